"""Tables to try the library on: bundled with it, generated, or fetched and checked against a digest."""

from sanitize.datasets._bundled import (
    load_berkeley,
    load_framingham,
    load_hair_eye,
    load_titanic,
    make_joint,
    make_table,
)
from sanitize.datasets._fetch import fetch
from sanitize.datasets._registry import SOURCES as SOURCES
from sanitize.datasets._survey import load_survey

__all__ = [
    "fetch",
    "load_berkeley",
    "load_framingham",
    "load_hair_eye",
    "load_survey",
    "load_titanic",
    "make_joint",
    "make_table",
]
