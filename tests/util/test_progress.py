"""Progress is shown on terminals, and is nobody's business elsewhere."""

import sys
import types

import pytest

import sanitize as sz
from sanitize._util.progress import advance, notify_rows, progress, show_progress
from sanitize.cli import main
from sanitize.policy import make_plan


@pytest.fixture
def bars(monkeypatch):
    """Bars that remember what they were told."""
    made = []

    class Bar:
        def __init__(self, **settings):
            self.settings, self.states, self.n = settings, [], 0
            made.append(self)

        def set_postfix_str(self, state, refresh):
            self.states.append(state)

        def update(self, n=1):
            self.n += n

        def reset(self, total):
            self.passes, self.n = [*getattr(self, "passes", []), (self.n, total)], 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    return made


def work():
    with progress("a search") as step, show_progress():
        step("gap 1.0")
        step("gap 0.1")
        advance(3)


def test_steps_and_rows_are_shown_on_a_terminal(bars):
    work()
    assert [(bar.n, bar.states) for bar in bars] == [(2, ["gap 1.0", "gap 0.1"]), (3, [])]
    assert all(bar.settings["delay"] == 2 and bar.settings["file"] is sys.stderr for bar in bars)


def test_nothing_is_shown_elsewhere(bars, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    work()
    assert bars == []


@pytest.mark.parametrize("command", ["init", "release"])
def test_rows_of_a_file_have_an_end_and_a_time_that_is_left(bars, tmp_path, command):
    """Every pass says before it begins how many rows it has, and has as many."""
    sz.datasets.load_titanic().to_parquet(tmp_path / "raw.parquet")
    settings = [
        "-s",
        "survived",
        "-x",
        "class",
        "-x",
        "sex",
        "--at-most",
        "2",
        "--at-least",
        "0.5",
        "-o",
        str(tmp_path / "released.csv"),
    ]
    settings = [*settings, "-m", "latent-classes"] if command == "release" else ["-o", str(tmp_path / "policy.toml")]
    assert main([command, str(tmp_path / "raw.parquet"), *settings]) == 0
    (rows,) = [bar for bar in bars if bar.settings["desc"] == "rows"]
    assert "{remaining}" in rows.bar_format
    ends = [total for _, total in rows.passes]
    assert [*(n for n, _ in rows.passes[1:]), rows.n] == ends == [2201] * len(ends)
    assert len(ends) == 2  # `init` reads a second time, for columns that identify people


def test_an_inner_listener_stands_in_for_the_outer_one():
    outer, inner = [], []
    with notify_rows(outer.append):
        advance(1)
        with notify_rows(inner.append):
            advance(2)
        advance(4)
    advance(8)
    assert (outer, inner) == ([1, 4], [2])


def test_counted_steps_know_their_end_and_the_time_that_is_left(bars):
    with progress("designs", 3) as step:
        for name in ("watchdog", "subset-merging"):
            step(name)
    assert bars[0].settings["total"] == 3
    assert "{remaining}" in bars[0].settings["bar_format"]
    assert (bars[0].n, bars[0].states) == (2, ["watchdog", "subset-merging"])


def test_a_plan_counts_its_designs(bars, tmp_path):
    sz.datasets.load_titanic().to_parquet(tmp_path / "raw.parquet")
    columns = {"sensitive": ["survived"], "public": ["class"], "drop": ["sex", "age"]}
    policy = sz.Policy.from_dict({"version": 1, "columns": columns, "budget": {"lower": 1, "upper": 1}})
    plan = make_plan(policy, tmp_path / "raw.parquet")
    (designs,) = [bar for bar in bars if bar.settings["desc"] == "designs"]
    assert designs.n == designs.settings["total"] == sum(len(curve) for curve in plan.curves) - 1
