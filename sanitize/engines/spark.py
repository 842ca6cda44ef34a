"""Releases of Parquet files and of Spark data frames by Spark workers.

The examples need Java, so the tests do not run them.

Examples
--------
>>> import sanitize as sz
>>> import sanitize.engines.spark
>>> from sanitize.transformers import SubsetMerging
>>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
>>> sanitize.engines.spark.release_file("raw.parquet", "released", sanitizer, spark=spark)  # doctest: +SKIP
LeakageReport(subset merging, holds for these rows only)
"""

from __future__ import annotations

import pickle
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanitize import errors
from sanitize._util.sampling.noise import hidden
from sanitize.engines.parquet import (
    TASK_ROWS,
    Item,
    Outcome,
    merge_all,
    partition_words,
    release_by_tasks,
    release_frame,
    shared_noise_key,
)

__all__ = ["release_file", "transform"]

try:
    from pyspark import TaskContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sf
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "pyspark":
        raise
    needs = "sanitize.engines.spark needs PySpark: pip install 'sanitize-tabular[spark]', and Java"
    raise ModuleNotFoundError(needs, name="pyspark") from None

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from sanitize.over_time import Ledger
    from sanitize.release.first_pass import RowOrder
    from sanitize.report import LeakageReport
    from sanitize.transformers import Sanitizer


def release_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    rows: RowOrder = "shuffle",
    key: bytes | None = None,
    force: bool = False,
    spark: SparkSession | None = None,
    task_rows: int = TASK_ROWS,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> LeakageReport:
    """Release a Parquet file or data set as `sanitize.release_file` does, counted and written by Spark workers.

    Spark distributes tasks (a file and some of its row groups). Python workers read the source and write the parts
    themselves, without passing rows through the JVM, so all of them need access to both under the same path. The
    channel is identical to that of a single machine, and so are the rows for the same key: the parts together have the
    same rows in the same order.

    Parameters
    ----------
    source : path
        A Parquet file, or a folder whose ``*.parquet`` files have one schema.
    target : path
        Folder of parts, which becomes visible when it is complete.
    sanitizer : Sanitizer
        Estimator of `sanitize.transformers`, which is fitted in place.
    rows : {"shuffle", "keep"}
        Rows are shuffled because their order can reveal S (as in a file sorted by S); ``keep`` keeps the order.
    key : bytes, optional
        256-bit key of the noise; by default a fresh key, which is not stored. Workers get it as an argument of
        their tasks, which Spark may keep on its local disks while it runs; ``spark.io.encryption.enabled``
        encrypts those.
    force : bool
        Whether to replace an existing target.
    spark : SparkSession, optional
        Session to use; by default the active session. It runs a failed task again (``spark.task.maxFailures``); the
        task then draws the same noise and replaces its file.
    task_rows : int
        Most rows of a task, unless a single row group has more.
    ledger : Ledger or path, optional
        Ledger of the releases of this table, in a file that only the driver reads and writes. The release is refused
        if all recorded releases and this one exceed the ledger's budget; otherwise it is recorded once, before any row
        is drawn. In one more pass, workers count the rows for the joint leakage of all releases.

    Returns
    -------
    LeakageReport

    Raises
    ------
    BudgetExceeded
        If the channel exceeds the budget, or the ledger's; nothing is written.
    SourceError, TargetError, ColumnError
        If the input cannot be read, the output not written, or a column does not fit.
    """
    key = hidden(key)
    engine = _Tasks(SparkSession.active() if spark is None else spark)
    return release_by_tasks(
        engine, source, target, sanitizer, rows=rows, key=key, force=force, task_rows=task_rows, ledger=ledger
    )


def transform(df: DataFrame, sanitizer: Sanitizer, *, key: bytes | None = None) -> DataFrame:
    """Release the public columns of a Spark data frame through a fitted sanitizer.

    For Parquet files, `release_file` is several times faster, because here every row passes between the JVM and Python.
    Row ``i`` of partition ``k`` draws its noise from (key, k, i), so a task that is run again draws the same rows. The
    order of rows is kept.

    Spark computes a data frame again for every action, and may partition it differently for another query. So write the
    result once and hand out copies of the written table: rows released twice with different noise reveal more. If rows
    come from a shuffle, Spark does not fix their order within a partition; sort them within partitions first, or
    checkpoint them, if tasks may be run again.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Frame with the public columns.
    sanitizer : Sanitizer
        Fitted estimator, for example from `release_file` or from a sample in memory.
    key : bytes, optional
        256-bit key of the noise; by default a fresh key.

    Returns
    -------
    pyspark.sql.DataFrame
        Frame with the released columns only.

    Examples
    --------
    >>> released = transform(df, sanitizer)  # doctest: +SKIP
    >>> released.write.parquet("released")  # doctest: +SKIP
    """
    key = hidden(key)
    release = sanitizer.bare_release()
    words = shared_noise_key(sanitizer, key)
    public = df.select(*["`" + name.replace("`", "``") + "`" for name in release.layout.read])
    printed = release_frame(release, to_arrow_schema(public.schema).empty_table(), words).schema

    def release_partition(batches: Iterator[Any]) -> Iterator[Any]:
        task = TaskContext.get()
        assert task is not None
        stream = partition_words(words, task.partitionId())
        start = 0
        for batch in batches:
            rows = batch.schema.empty_table().from_batches([batch])
            yield from release_frame(release, rows, stream, start).cast(printed).to_batches()
            start += batch.num_rows

    return public.mapInArrow(release_partition, from_arrow_schema(printed))


@dataclass(frozen=True)
class _Tasks:
    """Engine that runs tasks on Spark: each task is one row in its own partition, and returns a pickled result."""

    spark: SparkSession

    def run(self, work: Callable[[Item], Outcome], items: Sequence[Item], name: str) -> Outcome:
        """Run ``work`` on every item and merge the results."""

        def call(number: int) -> bytes:
            return zlib.compress(pickle.dumps(work(items[number])), 1)

        call.__name__ = f"sanitize_{name}"
        numbers = self.spark.range(0, len(items), 1, len(items))
        try:
            outcomes = numbers.select(sf.udf(call, "binary", useArrow=False)("id")).collect()
        except PySparkException as failed:
            raise _own_error(str(failed)) or failed from None
        return merge_all(pickle.loads(zlib.decompress(row[0])) for row in outcomes)


def _own_error(text: str) -> errors.SanitizeError | None:
    """Return the error of this library that ended a task, from Spark's traceback text; None for another error."""
    matches = re.findall(r"^sanitize\.errors\.(\w+): (.*)$", text, re.MULTILINE)
    if not matches:
        return None
    # Of the errors that may end a task, these consist of their message only.
    is_told = matches[-1][0] in ("SourceError", "SourceChanged", "TargetError", "ColumnError", "InvalidParameter")
    kind: type[errors.SanitizeError] = getattr(errors, matches[-1][0]) if is_told else errors.SanitizeError
    return kind(matches[-1][1])
