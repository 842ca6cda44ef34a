"""Threads, order and Hypothesis profiles of the suite; its helpers are plain modules in `support`."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# Many small matrices, and a worker a core: threads of the linear algebra, and those of OpenMP in scikit-learn's boosted
# trees, would wait for each other most of the time, the latter without sleeping.
# NumPy may be loaded here already; SciPy, the workers and every process that a test starts read the environment.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
threadpool_limits(1, user_api="blas")

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("ci", derandomize=True, max_examples=40, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Files whose tests wait for engines, clusters and kernels: whoever meets them last would let the other workers wait.
_LONGEST = {"test_spark.py", "test_dask.py", "test_dask_frames.py", "test_notebooks.py"}


# Of the cases of a slow test about one in so many always runs, and at least one.
_SAMPLED = 32
# Examples of a slow property that always run: enough for a fault that most examples show.
_EXAMPLES = 4


@pytest.fixture(autouse=True)
def _forgotten_releases():
    """Tests release the same rows as others did: what one released is no news of another's."""
    yield
    if (module := sys.modules.get("sanitize.transformers._sanitizer")) is not None:
        module._FITTED.clear()


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run slow tests too, of which else a sample of cases runs")
    parser.addoption("--skipped", action="store_true", help="run only what the last run skipped, for want of a package")


# Tests, and whole files, that this run skipped.
_SKIPPED: set[str] = set()


def pytest_runtest_logreport(report):
    """Remember what was skipped; an expected failure counts as skipped, too, and is none."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _SKIPPED.add(report.nodeid)


def pytest_collectreport(report):
    """Remember files that were skipped whole."""
    if report.skipped:
        _SKIPPED.add(report.nodeid)


def pytest_sessionfinish(session):
    """Keep what was skipped for a later run with ``--skipped``; of workers, whoever started them does it."""
    config = session.config
    keeps = hasattr(config, "cache") and not hasattr(config, "workerinput")
    if keeps and not (config.option.skipped or config.option.collectonly):
        config.cache.set("sanitize/skipped", sorted(_SKIPPED))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out most of what is slow, and run the longest files first, whatever order was drawn for the others."""
    if config.getoption("--skipped"):
        before = set(config.cache.get("sanitize/skipped", []))
        left_out = {item for item in items if before.isdisjoint({item.nodeid, item.nodeid.partition("::")[0]})}
    elif not config.getoption("--slow"):
        slow = sorted((item for item in items if item.get_closest_marker("slow")), key=_function)
        left_out = {item for _, cases in groupby(slow, key=_function) for item in _not_sampled(list(cases))}
        for item in filter(_is_property, slow):  # as Hypothesis's own plugin sets the settings of a test
            test, name = item.obj, "_hypothesis_internal_use_settings"
            setattr(test, name, settings(getattr(test, name), max_examples=_EXAMPLES))
    else:
        left_out = set()
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.path.name not in _LONGEST)


def _function(item):
    return item.nodeid.partition("[")[0]


def _not_sampled(cases):
    """Cases that are left out: long ones, a test without cases or examples, and of the others those that names draw."""
    several = (item for item in cases if hasattr(item, "callspec") or _is_property(item))
    short = {item for item in several if all(map(_sampled, item.iter_markers("slow")))}
    drawn = sorted(short, key=_place)
    return [item for item in cases if item not in drawn[:1] and (item not in short or _place(item) % _SAMPLED)]


def _is_property(item):
    return getattr(item.obj, "is_hypothesis_test", False)


def _sampled(mark):
    return mark.kwargs.get("sampled", True)


def _place(item):
    return crc32(item.nodeid.encode())


def pytest_terminal_summary(terminalreporter):
    """Print how many of scikit-learn's own checks ran, and how they ended."""
    forms = {"as_shipped": "as shipped", "all_checks_but_two": "seeded, without the tag"}
    for part, form in forms.items():
        ended = {
            outcome: len([r for r in terminalreporter.stats.get(outcome, []) if part in getattr(r, "nodeid", "")])
            for outcome in ("passed", "skipped", "xfailed", "failed")
        }
        if any(ended.values()):
            counts = ", ".join(f"{n} {outcome}" for outcome, n in ended.items())
            terminalreporter.write_line(f"scikit-learn's estimator checks, {form}: {counts}")
