"""Verification of a released file against its original table and policy: columns, draws, and other content."""

from __future__ import annotations

from sanitize.auditing.verify._papers import make_croissant as make_croissant
from sanitize.auditing.verify._papers import make_statement as make_statement
from sanitize.auditing.verify._papers import read_json as read_json
from sanitize.auditing.verify._verification import Verification as Verification
from sanitize.auditing.verify._verify import verify_file

__all__ = ["verify_file"]
