"""Releases of Parquet or CSV in bounded memory: count, then draw and write."""

from __future__ import annotations

from sanitize.parquet._engine import TASK_ROWS as TASK_ROWS
from sanitize.parquet._engine import Item as Item
from sanitize.parquet._engine import Outcome as Outcome
from sanitize.parquet._engine import keyed as keyed
from sanitize.parquet._engine import partition_words as partition_words
from sanitize.parquet._engine import release_by_tasks as release_by_tasks
from sanitize.parquet._engine import release_frame as release_frame
from sanitize.parquet._parquet_writer import released_schema as released_schema
from sanitize.parquet._privatize import audit_parquet, plan_parquet, privatize_parquet
from sanitize.saved import AppendedReport

__all__ = ["AppendedReport", "audit_parquet", "plan_parquet", "privatize_parquet"]
