"""Compare a released file with its source and its policy: what it holds, what was drawn, and what was left behind."""

from __future__ import annotations

from sanitize.verify._verify import Verification, verify_parquet

__all__ = ["Verification", "verify_parquet"]
