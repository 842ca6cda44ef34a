"""Releases by Spark: the same channel and rows as on one machine, whatever happens to the workers."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_cases import (
    KEY,
    TASK_ROWS,
    assert_as_alone,
    assert_same,
    book_of,
    interrupted_after,
    left_in,
    make_leaky,
    make_source,
    merging,
    release_alone,
    rows_of,
    two_ledgers,
    with_faults,
)

import sanitize as sz
from sanitize._util.sampling.noise import NoiseKey
from sanitize.engines.parquet._engine import partition_words
from sanitize.errors import BudgetExceeded, InvalidParameter, LedgerExceeded, SourceError, TargetError

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'sanitize-tabular[spark]'")

from pyspark.sql import SparkSession

from sanitize.engines.spark import _own_error, _Tasks, release_file, transform

pytestmark = [
    # Spark's own remark on the pandas that is installed; none of its pandas functions is used.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Older versions leave the sockets they read results from to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def java() -> str | None:
    """The Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


# Jobs of a second are over before it pays to compile them well, and small heaps need no collector of many threads.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LOGGING = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %m%n%ex
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """What Spark writes to its log."""
    return tmp_path_factory.mktemp("log") / "spark.log"


@pytest.fixture(scope="module")
def spark(tmp_path_factory, log):
    """Two worker processes; a task may fail twice."""
    if java() is None:
        pytest.skip("Spark was not tested: there is no Java on this machine (java on the PATH, or JAVA_HOME)")
    log.with_suffix(".properties").write_text(LOGGING.format(path=log))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        if (active := SparkSession.getActiveSession()) is not None:  # of a page or a docstring, in this process
            active.stop()
        session = (
            SparkSession.builder.master("local[2,3]")
            .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parents[1] / "support"))  # has `engine_cases`
            .config("spark.ui.enabled", "false")
            .config("spark.driver.extraJavaOptions", QUICK)
            .config("spark.sql.shuffle.partitions", "3")  # 200 tasks else, wherever rows are ordered
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        jvm = session.sparkContext._jvm  # which may be that of a page, and then has a log of its own by now
        jvm.org.apache.logging.log4j.core.config.Configurator.reconfigure(
            jvm.java.net.URI(log.with_suffix(".properties").as_uri())
        )
        yield session
        session.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()  # sockets of Spark are not for other tests to find


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("adult"))


@pytest.fixture(scope="module")
def alone(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return {rows: release_alone(source, folder / rows, rows) for rows in ("shuffle", "keep")}


@pytest.fixture
def small(source):
    return source / "deep" / "1.parquet"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "fault"),
    [("shuffle", "raise"), pytest.param("keep", "kill", marks=pytest.mark.slow(sampled=False))],
)
def test_spark_releases_what_one_machine_releases_though_tasks_fail(
    rows, fault, source, alone, spark, tmp_path, monkeypatch
):
    passes = {"raise": {"count", "write"}, "kill": {"rewrite"}}[fault]
    with_faults(monkeypatch, _Tasks, tmp_path, fault, passes)
    sanitizer = merging()
    release_file(source, tmp_path / "out", sanitizer, rows=rows, key=KEY, spark=spark, task_rows=TASK_ROWS)
    assert_same(tmp_path / "out", sanitizer, alone[rows])
    assert left_in(tmp_path) == sorted({"out", *(f"failed-{name}" for name in passes)})


@pytest.mark.slow
def test_whole_tables_are_released_as_on_one_machine(spark, tmp_path):
    assert_as_alone(partial(release_file, spark=spark), tmp_path)


def test_nothing_is_written_when_the_gate_fails(small, spark, tmp_path, monkeypatch):
    make_leaky(monkeypatch)
    with pytest.raises(BudgetExceeded, match="nothing was released"):
        release_file(small, tmp_path / "out", merging(0.05), spark=spark)
    assert left_in(tmp_path) == []


@pytest.mark.slow
def test_an_interruption_leaves_nothing_and_a_late_worker_cannot_write(small, spark, tmp_path, monkeypatch):
    ran = interrupted_after(monkeypatch, _Tasks, "rewrite")
    with pytest.raises(KeyboardInterrupt):
        release_file(small, tmp_path / "out", merging(), rows="keep", spark=spark)
    ((work, item),) = ran
    with pytest.raises(TargetError):
        work(item)
    assert left_in(tmp_path) == []


@pytest.mark.slow
def test_the_ledger_gets_the_entry_of_one_machine_once_though_tasks_fail(small, spark, tmp_path, monkeypatch):
    alone, engine = two_ledgers(tmp_path, small)
    with_faults(monkeypatch, _Tasks, tmp_path, "raise", {"ledger", "rewrite"})
    sanitizer = merging(2.0)
    given = {"rows": "keep", "key": KEY}
    release_file(small, tmp_path / "out", sanitizer, spark=spark, task_rows=1, ledger=engine, **given)
    assert {"failed-ledger", "failed-rewrite"} <= set(left_in(tmp_path))
    sz.release_file(small, tmp_path / "single.parquet", merging(2.0), ledger=alone, **given)
    assert book_of(engine) == book_of(alone)
    assert rows_of(tmp_path / "out").equals(rows_of(tmp_path / "single.parquet"))


@pytest.mark.slow
def test_a_release_that_the_ledger_refuses_leaves_target_and_ledger_as_they_were(small, spark, tmp_path):
    ledger = sz.Ledger(tmp_path / "ledger", 0.01)
    book = (tmp_path / "ledger").read_bytes()
    with pytest.raises(LedgerExceeded, match="nothing was released"):
        release_file(small, tmp_path / "out", merging(), spark=spark, ledger=ledger)
    assert left_in(tmp_path) == [".ledger.lock", "ledger"]
    assert (tmp_path / "ledger").read_bytes() == book


@pytest.mark.slow
def test_errors_of_workers_come_back_as_they_are(small, spark, tmp_path):
    data = bytearray(small.read_bytes())
    data[4:200] = bytes(196)
    (tmp_path / "raw.parquet").write_bytes(data)
    with pytest.raises(SourceError, match=r"^raw\.parquet is damaged"):
        release_file(tmp_path / "raw.parquet", tmp_path / "out", merging())  # the active session
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.slow
def test_rows_of_a_frame_are_those_of_a_local_transform_with_the_same_streams(small, spark):
    table = pq.read_table(small).slice(0, 3000)
    sanitizer = merging().fit(table)
    df = spark.createDataFrame(table.to_pylist(), "income string, education string, occupation string, age long")
    df = df.coalesce(1).union(df.limit(500))
    first = transform(df, sanitizer, key=KEY)
    assert first.columns == ["education", "occupation", "age"]
    found = [tuple(row) for row in first.collect()]
    assert found == [tuple(row) for row in first.collect()]
    expected = []
    for number, part in enumerate(df.rdd.glom().collect()):
        rows = pa.Table.from_pylist([row.asDict() for row in part], schema=table.schema)
        words = partition_words(NoiseKey(KEY), number)
        local = merging(random_state=words).fit(table).transform(rows)
        expected += list(zip(*local.to_pydict().values(), strict=True))
    assert found == expected
    assert len(found) == 3500


@pytest.mark.slow
def test_a_failed_task_over_a_frame_draws_the_same_noise_again(small, spark, tmp_path):
    sanitizer = merging().fit(pq.read_table(small))
    df = spark.read.parquet(str(small))
    plain = transform(df, sanitizer, key=KEY).collect()
    marker = tmp_path / "failed"

    def fails_once(batches):
        yield from batches
        if not marker.exists():
            marker.touch()
            raise OSError("the network is away for a moment")

    released = transform(df, sanitizer, key=KEY)
    again = released.mapInArrow(fails_once, released.schema).collect()
    assert marker.exists()
    assert again == plain


@pytest.mark.slow
def test_plans_and_logs_do_not_show_the_key(small, spark, log, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(NoiseKey, "__repr__", lambda words: words.key.hex())
    released = transform(spark.read.parquet(str(small)), merging().fit(pq.read_table(small)), key=KEY)
    released.explain(extended=True)
    with_faults(monkeypatch, _Tasks, tmp_path, "raise", {"count", "rewrite"})
    release_file(small, tmp_path / "out", merging(), rows="keep", key=KEY, spark=spark, task_rows=1)
    told = "".join(capsys.readouterr()) + log.read_text()
    assert "MapInArrow" in told
    assert "the network is away" in told
    assert KEY.hex() not in told
    assert repr(KEY)[2:-1] not in told
    assert len(rows_of(tmp_path / "out")) == pq.read_metadata(small).num_rows


def test_only_a_fitted_sanitizer_is_applied(spark):
    with pytest.raises(InvalidParameter, match="not fitted"):
        transform(spark.range(3), merging())


def test_errors_that_are_not_ours_stay_what_they_are():
    assert _own_error("java.lang.OutOfMemoryError") is None
    told = "Traceback\n  line\nsanitize.errors.UnknownSymbol: 3 row(s) hold a value\n\n\tat org.apache"
    assert str(_own_error(told)) == "3 row(s) hold a value"


@pytest.mark.slow
def test_without_pyspark_the_error_names_the_extra():
    code = "import sys; sys.modules['pyspark'] = None; import sanitize, sanitize.engines.spark"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        "ModuleNotFoundError: sanitize.engines.spark needs PySpark: pip install 'sanitize-tabular[spark]'"
        in done.stderr
    )
