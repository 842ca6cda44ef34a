"""Releases of Parquet files and of Dask data frames by Dask workers.

Examples
--------
>>> import tempfile, pathlib
>>> import sanitize as sz
>>> import sanitize.engines.dask
>>> from sanitize.transformers import SubsetMerging
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> sz.datasets.load_titanic().to_parquet(folder / "raw.parquet")
>>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
>>> sanitize.engines.dask.release_file(folder / "raw.parquet", folder / "released", sanitizer)
LeakageReport(subset merging, holds for these rows only)
>>> [part.name for part in (folder / "released").iterdir()]
['part-00000.parquet']
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

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
    import dask
except ModuleNotFoundError:
    needs = "sanitize.engines.dask needs Dask: pip install 'sanitize-tabular[dask]'"
    raise ModuleNotFoundError(needs, name="dask") from None

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import dask.dataframe as dd
    from distributed import Client

    from sanitize.over_time import Ledger
    from sanitize.release.first_pass import RowOrder
    from sanitize.report import LeakageReport
    from sanitize.transformers import Sanitizer

# A tree of merges spreads the work over workers. Eight counts at a time keep it flat and still fit one worker's memory.
_MERGED_AT_ONCE = 8


def release_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    rows: RowOrder = "shuffle",
    key: bytes | None = None,
    force: bool = False,
    client: Client | None = None,
    retries: int = 3,
    task_rows: int = TASK_ROWS,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> LeakageReport:
    """Release a Parquet file or data set as `sanitize.release_file` does, counted and written by Dask workers.

    Workers read the source and write the parts themselves, so all of them need access to both under the same path. The
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
        256-bit key of the noise; by default a fresh key, which is not stored. Workers get it with their tasks.
    force : bool
        Whether to replace an existing target.
    client : distributed.Client, optional
        Client of the workers to use; by default Dask's own choice: the current client, or threads of this process.
    retries : int
        How often a failed task is run again; it draws the same noise and replaces its file. Threads of this process
        do not retry.
    task_rows : int
        Most rows of a task, unless a single row group has more.
    ledger : Ledger or path, optional
        Ledger of the releases of this table, in a file that only the client reads and writes. The release is refused
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
    engine = _Tasks(client, retries)
    return release_by_tasks(
        engine, source, target, sanitizer, rows=rows, key=key, force=force, task_rows=task_rows, ledger=ledger
    )


def transform(ddf: dd.DataFrame, sanitizer: Sanitizer, *, key: bytes | None = None) -> dd.DataFrame:
    """Release the public columns of a Dask data frame through a fitted sanitizer.

    Row ``i`` of partition ``k`` draws its noise from (key, k, i), so a task that is run again, and every later
    ``compute`` of the returned frame, gives the same rows. Calling `transform` again without a key draws fresh noise,
    and releasing rows twice reveals more than once. The order of rows is kept.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        Frame with the public columns. Its partitions must have the same rows in the same order whenever they are
        computed, as partitions read from files do.
    sanitizer : Sanitizer
        Fitted estimator, for example from `release_file` or from a sample in memory.
    key : bytes, optional
        256-bit key of the noise; by default a fresh key.

    Returns
    -------
    dask.dataframe.DataFrame
        Frame with the released columns only.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import sanitize as sz
    >>> from sanitize.transformers import Watchdog
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"]).fit(df)
    >>> released = transform(dd.from_pandas(df, npartitions=3), sanitizer)
    >>> released.npartitions, released.columns.tolist()
    (3, ['class', 'sex'])
    """
    import dask.dataframe as dd
    from dask.dataframe.utils import clear_known_categories

    key = hidden(key)
    release = sanitizer.bare_release()
    words = shared_noise_key(sanitizer, key)
    public = ddf[list(release.layout.read)]
    meta = clear_known_categories(release_frame(release, public._meta, words))
    token = secrets.token_hex(8)
    shared = _shared(partial(release_frame, release), f"sanitize-release-{token}")
    # Partitions are numbered after the plan of the source is final: if a later selection of partitions or columns
    # renumbered them, a row could be released twice with different noise.
    parts, call = [], dask.delayed(_call, pure=False)
    for number, part in enumerate(public.to_delayed()):
        sealed, name = _Sealed(partition_words(words, number)), f"sanitize-partition-{token}-{number}"
        parts.append(call(shared, part, sealed, dask_key_name=name))
    return dd.from_delayed(parts, meta=meta, verify_meta=False)


@dataclass(frozen=True)
class _Tasks:
    """Engine that runs tasks on Dask; names of tasks are random, never hashes of their content."""

    client: Client | None
    retries: int

    def run(self, work: Callable[[Item], Outcome], items: Sequence[Item], name: str) -> Outcome:
        """Run ``work`` on every item and merge the results."""
        token = secrets.token_hex(8)
        shared = _shared(work, f"sanitize-{name}-work-{token}")
        call, merge = dask.delayed(_call, pure=False), dask.delayed(merge_all, pure=False)
        label = f"sanitize-{name}-{token}"
        nodes = [call(shared, _Sealed(item), dask_key_name=f"{label}-{i}") for i, item in enumerate(items)]
        while (n := len(nodes)) > 1:
            starts, label = range(0, n, _MERGED_AT_ONCE), f"sanitize-{name}-merge-{token}-{n}"
            nodes = [merge(nodes[i : i + _MERGED_AT_ONCE], dask_key_name=f"{label}-{i}") for i in starts]
        if self.client is None:
            return dask.compute(nodes[0], retries=self.retries)[0]
        future = self.client.compute(nodes[0], retries=self.retries)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


class _Sealed:
    """Wrapper of a value that Dask must neither inspect, hash nor show."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _shared(value: Any, name: str) -> Any:
    """Make one node of the graph that many tasks share as an argument."""
    return dask.delayed(_Sealed(value), name=name, traverse=False)


def _call(work: _Sealed, *items: Any) -> Any:
    return work.value(*(item.value if isinstance(item, _Sealed) else item for item in items))
