"""Mechanisms side by side: the one that keeps most is recommended, chosen by "auto", named and verified."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize import mechanisms
from sanitize._util.formatting import percent
from sanitize.auditing.verify import verify_file
from sanitize.cli import main
from sanitize.engines.parquet import release_file
from sanitize.errors import InvalidBudget, InvalidParameter, PolicyError, UselessRelease
from sanitize.policy import make_plan
from sanitize.policy._advice import Drafts
from sanitize.release.choosing import KINDS, Choice, compare, most_useful
from sanitize.release.first_pass import TableCounter
from sanitize.release.fit import FitOptions
from sanitize.tables.files.open import open_source
from sanitize.transformers import (
    BestSanitizer,
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    SubsetMerging,
    Watchdog,
)

ROLES = {"sensitive": "survived", "public": ["class", "sex"]}
LIFT = sz.LiftBudget.symmetric(0.5)


@pytest.fixture(scope="module")
def df():
    return sz.datasets.load_titanic()


@pytest.fixture(autouse=True)
def _unpriced(monkeypatch):
    """What a confidence costs takes three designs more, and is no part of a choice."""
    monkeypatch.setattr("sanitize.release.fit._price_confidence", lambda report, *_: report)


@cache
def certified(budget, **settings):
    return BestSanitizer(budget, **ROLES, **settings, confidence=0.9, random_state=0).fit(sz.datasets.load_titanic())


def distribution(n_x: int) -> sz.JointDistribution:
    cells = np.random.default_rng(n_x).random((3, n_x)) + 0.01
    return sz.JointDistribution.from_matrix(cells / cells.sum())


@pytest.mark.parametrize("budget", [LIFT, sz.LDPBudget(0.8), sz.L1LiftBudget(lower=0.5, upper=0.3)])
def test_each_line_is_what_its_estimator_releases_and_the_best_is_recommended(df, budget):
    found, room = compare(df, budget, **ROLES), len(df) ** -0.5
    assert found.recommended.normalized_utility >= max(one.normalized_utility for one in found.compared) - room
    made = {"watchdog": Watchdog, "subset merging": SubsetMerging, "optimal random response": OptimalRandomResponse}
    for one in found.compared:
        fitted = made[one.mechanism](budget, **ROLES).fit(df)
        assert one.normalized_utility == pytest.approx(fitted.report_.summary["normalized_utility"], abs=1e-12)
    # The estimator has latent classes beside them, and compares by column.
    chosen = BestSanitizer(budget, **ROLES, random_state=0).fit(df)
    for one in found.compared:
        told = chosen.compared_[one.mechanism].summary
        assert told["normalized_utility"] == pytest.approx(one.normalized_utility, abs=1e-12)
    kept = {name: report.summary["mean_column_utility"] for name, report in chosen.compared_.items()}
    assert "latent classes" in kept
    name = chosen.report_.facts.mechanism
    assert kept[name] >= max(kept.values()) - room
    settings = {"random_state": 0} if name == "latent classes" else {}
    assert (
        chosen.channel_
        == (made | {"latent classes": LatentClassRelease})[name](budget, **ROLES, **settings).fit(df).channel_
    )


@pytest.mark.slow
def test_responses_are_compared_for_their_budgets_and_alphabets_only():
    names = {
        n_x: [one.mechanism for one in compare(distribution(n_x), 0.4, effort=1e5).compared] for n_x in (6, 40, 210)
    }
    assert names[6] == ["watchdog", "subset merging", "optimal random response"]
    assert names[40] == [kind.name for kind in KINDS]
    assert names[210] == ["watchdog", "subset merging", "subset random response"]
    others = compare(distribution(6), sz.Chi2LiftBudget(lower=0.5, upper=0.3)).compared
    assert [one.mechanism for one in others] == ["watchdog", "subset merging"]


def test_the_simplest_of_equals_is_recommended():
    assert most_useful([0.5, 0.8, 0.8 + 1e-9]) == 1
    assert compare(distribution(6), 50.0).recommended.mechanism == "watchdog"


@pytest.mark.parametrize(
    ("n_rows", "kept", "printed", "taken"),
    [
        (100, [0.41, 0.45, 0.5], [1, 1, 1], 0),
        (100, [0.39, 0.45, 0.5], [1, 1, 1], 1),
        (None, [0.41, 0.5 - 1e-7, 0.5], [1, 1, 1], 1),
        (100, [0.45, 0.5, 0.41], [0.98, 0.98, 1], 2),
        (100, [0.45, 0.5, 0.39], [0.98, 0.98, 1], 0),
        (10_000, [0.45, 0.5, 0.41], [0.98, 0.98, 1], 1),
    ],
)
def test_what_so_many_rows_do_not_tell_apart_goes_to_what_leaves_out_fewest_and_is_simplest(
    n_rows, kept, printed, taken
):
    told = [
        {"normalized_utility": one} | ({"printed_rows": all_of} if all_of < 1 else {})
        for one, all_of in zip(kept, printed, strict=True)
    ]
    choice = Choice({str(i): SimpleNamespace(n_rows=n_rows, summary=one) for i, one in enumerate(told)})
    assert choice.best == str(taken)


@pytest.mark.parametrize(
    ("sensitive", "lower", "n_rows", "better", "words"),
    [
        ("sex", 1.5, 2201, "subset merging", "optimal random response, {}, but it is less simple."),
    ],
)
def test_of_mechanisms_that_tie_a_plan_takes_the_simpler_one(df, tmp_path, sensitive, lower, n_rows, better, words):
    rows = df.sample(frac=1, random_state=100, ignore_index=True)[:n_rows]
    rows.to_parquet(tmp_path / "raw.parquet")
    policy = {
        "version": 1,
        "rows": "keep",
        "columns": {"sensitive": [sensitive], "public": [name for name in rows if name != sensitive]},
        "budget": {"lower": lower, "upper": 0.5},
        "channel": {"mechanism": "watchdog"},
    }
    plan = make_plan(sz.Policy.from_dict(policy), tmp_path / "raw.parquet")
    best = BestSanitizer(sz.LiftBudget(lower=lower, upper=0.5), sensitive=sensitive).fit(rows)
    assert best.report_.facts.mechanism == better
    kept = {name: report.summary["mean_column_utility"] for name, report in best.compared_.items()}
    most = max(kept, key=kept.__getitem__)
    assert most != better
    assert kept[most] - kept[better] < n_rows**-0.5
    first, second, kind = plan.to_text().split("\n\n")[0].replace("\n  ", " ").split("\n")
    assert first == (
        f"Recommended: {better}, which keeps as much within the budget as any, as far as {n_rows:,} rows show."
    )
    assert second.startswith(f"It keeps {percent(kept[better])} of each column, on average; ")
    assert words.format(percent(kept[most])) in second
    assert kind == "Kind of release: columns of each row, which still belongs to a person."
    assert [one.value for one in plan.proposals if one.key == "mechanism"] == [json.dumps(better.replace(" ", "-"))]


def test_a_distribution_and_a_table_are_compared_alike_in_every_view(df):
    joint = sz.JointDistribution.from_frame(df, ["survived"], ["class", "sex"])
    tables = [
        str(compare(joint, 0.5)),
        str(compare(df, 0.5, **ROLES)),
        str(compare(df[["survived", "class", "sex"]], 0.5, sensitive="survived")),
    ]
    assert tables[0] == tables[1] == tables[2]
    assert tables[0].splitlines()[-1] == "recommended: subset merging"
    summary = compare(joint, 0.5).summary
    assert summary["optimal random response"]["status"] == "optimal"
    assert len(summary) == len(tables[0].splitlines()) - 2


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"budget": None}, InvalidBudget, "budget"),
        ({"sensitive": "survived"}, InvalidParameter, "already names the sensitive"),
    ],
)
def test_bad_questions_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        compare(distribution(4), **{"budget": 0.5, **arguments})


def test_no_mechanism_is_recommended_for_a_table_that_estimators_refuse():
    """649 x 32, like a survey of pupils: each row has public values of its own."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 5, (649, 32)), columns=[f"q{j}" for j in range(32)])
    for refused in (
        lambda: SubsetMerging(LIFT, sensitive="q0").fit(wide),
        lambda: compare(wide, LIFT, sensitive="q0"),
    ):
        with pytest.raises(UselessRelease, match="no combination of values of the public columns is shared by 10 rows"):
            refused()


def test_a_table_needs_a_sensitive_column(df):
    with pytest.raises(InvalidParameter, match="give sensitive="):
        compare(df, 0.5)


def test_the_choice_is_in_the_report_and_not_in_the_public_one(df):
    report = BestSanitizer(LIFT, **ROLES).fit(df).report_
    assert "optimal random response was chosen" in report.to_json()
    assert "watchdog" not in report.to_json(audience="public")
    assert sz.LeakageReport.from_json(report.to_json()).to_text() == report.to_text()


@pytest.mark.parametrize(
    ("budget", "settings", "n_certificates"),
    [(LIFT, {}, 2), (sz.LDPBudget(0.8), {"smoothing": 0.0}, 2), (LIFT, {"min_count": 3}, 2)],
)
def test_a_choice_under_a_confidence_holds_though_the_best_of_several_was_taken(df, budget, settings, n_certificates):
    """Tuples are certified by one set of distributions and classes by rows of their own, and both hold together."""
    best = certified(budget, **settings)
    level = 1 - 0.1 / n_certificates
    assert best.report_.state == "source"
    assert best.report_.confidence == 0.9
    words = " ".join(best.report_.to_text().split())
    assert "95 % sure" not in words
    assert "90 % sure" in words
    assert {report.confidence for report in best.compared_.values()} == {level}
    made = {"watchdog": Watchdog, "subset merging": SubsetMerging, "optimal random response": OptimalRandomResponse}
    assert ("latent classes" in best.compared_) == (n_certificates == 2)
    name = best.report_.facts.mechanism
    settings = {"random_state": 0} if name == "latent classes" else settings
    made["latent classes"] = LatentClassRelease
    alone = made[name](budget, **ROLES, **settings, confidence=level).fit(df)
    assert best.channel_ == alone.channel_
    assert f"Each certificate holds at {100 * level:.6g} %" in best.report_.to_html()
    read = sz.LeakageReport.from_json(best.report_.to_json())
    assert read.to_text() == best.report_.to_text()


@pytest.mark.slow
def test_a_certificate_that_is_not_made_after_all_counts(df):
    """How many there are may not hang on what the rows are like, nor on which way they came."""
    rows = many_columns()  # tuples would have a row or two each, and are not designed
    best = BestSanitizer(LIFT, sensitive="ill", confidence=0.9).fit(rows)
    assert {name: report.confidence for name, report in best.compared_.items()} == {"latent classes": 0.95}
    batched = BestSanitizer(LIFT, **ROLES, confidence=0.9).fit(iter([df[:1500], df[1500:]]))
    assert {report.confidence for report in batched.compared_.values()} == {0.95}
    few = BestSanitizer(LIFT, **ROLES, confidence=0.9).fit(df.iloc[::4])  # too few for classes
    assert {report.confidence for report in few.compared_.values()} == {0.9}


def test_a_table_of_many_columns_is_released_through_latent_classes():
    df = many_columns()
    fitted = BestSanitizer(LIFT, sensitive="ill").fit(df)
    assert set(fitted.compared_) == {"latent classes"}  # tuples would have a row or two each
    assert fitted.report_.summary["mean_column_utility"] > 0.1
    assert list(fitted.transform(df)) == [name for name in df if name != "ill"]


def test_what_latent_classes_cannot_be_asked_for_leaves_tuples(df):
    tuples = {"watchdog", "subset merging", "optimal random response"}
    few = df.iloc[::4]
    for settings, rows in [({"smoothing": 0.5}, df), ({}, few)]:
        assert set(BestSanitizer(LIFT, **ROLES, **settings).fit(rows).compared_) == tuples
    weighted = BestSanitizer(LIFT, **ROLES).fit(df, sample_weight=np.ones(len(df)))
    assert set(weighted.compared_) == tuples


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_files_and_memory_choose_alike(confidence, tmp_path):
    df = many_columns()
    df.to_parquet(tmp_path / "raw.parquet")
    best = BestSanitizer(LIFT, sensitive="ill", confidence=confidence, random_state=0)
    reports = [best.fit(rows).report_ for rows in (df, tmp_path / "raw.parquet")]
    assert reports[0].facts.mechanism == reports[1].facts.mechanism
    of_shuffled = {"relations_kept"}  # rows of files stand for nobody
    assert reports[0].summary.items() == {k: v for k, v in reports[1].summary.items() if k not in of_shuffled}.items()
    assert [report.confidence for report in reports] == [confidence, confidence]


@pytest.mark.parametrize("level", [1.5, 0, "high"])
def test_a_confidence_that_is_none_is_refused_as_it_was_written(df, level):
    with pytest.raises(InvalidParameter, match=re.escape(f"got {level!r}")):
        BestSanitizer(LIFT, **ROLES, confidence=level).fit(df)


def test_a_channel_that_is_given_is_measured_at_the_level_of_its_certificate(df, tmp_path):
    df.to_parquet(tmp_path / "raw.parquet")
    best = certified(LIFT)
    with open_source(tmp_path / "raw.parquet") as source:
        fitted = best.recipe().fit(TableCounter(source, 1 << 16), FitOptions(channel=best.channel_))
    assert fitted.report.confidence == 0.9
    assert np.array_equal(fitted.report.excess, best.report_.excess)


@pytest.mark.parametrize("columns", [{"sensitive": "survived", "public": ["class", "sex"]}, {"sensitive": "ill"}])
def test_a_choice_under_a_confidence_is_verified_at_the_level_it_was_certified_at(
    df, columns, tmp_path, tmp_path_factory
):
    rows = df if "public" in columns else many_columns()
    rows.to_parquet(tmp_path / "raw.parquet")
    best = BestSanitizer(LIFT, **columns, confidence=0.95)
    released, receipt = tmp_path / "out.parquet", tmp_path_factory.mktemp("own") / "receipt.json"
    release_file(tmp_path / "raw.parquet", released, best, receipt=receipt)
    found = verify_file(released, tmp_path / "raw.parquet", best, receipt=receipt)
    assert found.ok, str(found)


def many_columns() -> pd.DataFrame:
    """Two thousand rows of six columns, which differ in most rows together."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=2000)
    numbers = {f"x{j}": np.round(base + rng.normal(size=2000), 1) for j in range(6)}
    return pd.DataFrame(numbers | {"ill": np.where(base + rng.normal(size=2000) > 1, "yes", "no")})


def test_a_choice_is_no_part_of_a_joint_release(df):
    with pytest.raises(InvalidParameter):
        JointRelease([("one", BestSanitizer(LIFT, public=["class"]))], LIFT, sensitive="survived").fit(df)


POLICY = """
version = 1
[columns]
sensitive = ["survived"]
public = ["class", "sex"]
drop = ["age"]
[budget]
lower = 0.3
upper = 0.3
[channel]
mechanism = "auto"
"""


def test_an_automatic_policy_releases_and_is_verified(df, tmp_path):
    source, target = tmp_path / "raw.parquet", tmp_path / "released.parquet"
    df.to_parquet(source)
    policy = sz.Policy.from_toml(POLICY)
    with pytest.raises(PolicyError, match="auto needs a budget of its own next to"):
        sz.Policy.from_toml(POLICY.replace("drop =", "keep ="))
    report = release_file(source, target, policy.sanitizer(), rows="shuffle")
    assert report.facts.mechanism in ("optimal random response", "latent classes")
    assert sz.verify_file(target, source, policy).ok


@pytest.mark.parametrize(
    ("mechanism", "words"), [("auto", "was chosen"), ("watchdog", "Recommended: optimal random response")]
)
def test_plan_compares_for_the_house_only(df, tmp_path, capsys, mechanism, words):
    source = tmp_path / "raw.parquet"
    df.to_parquet(source)
    asked = [
        "plan",
        str(source),
        "-s",
        "survived",
        "-x",
        "class",
        "-x",
        "sex",
        "--lower",
        "0.5",
        "--upper",
        "0.5",
        "-m",
        mechanism,
    ]
    assert main([*asked, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert words in next(one["words"] for one in shown["sections"] if one["name"] == "comparison")
    assert main([*asked, "--audience", "public"]) == 0
    assert "compared" not in capsys.readouterr().out


def test_a_plan_designs_nothing_twice(df, tmp_path, monkeypatch):
    df.to_parquet(tmp_path / "raw.parquet")
    designed = Counter()
    for name in ("watchdog", "subset_merging", "optimal_random_response"):
        original = getattr(sz.mechanisms, name)

        def counted(joint, budget, *args, original=original, **settings):
            designed[original.__name__, str(budget)] += 1
            return original(joint, budget, *args, **settings)

        monkeypatch.setattr(mechanisms, name, counted)
    make_plan(sz.Policy.from_toml(POLICY.replace("auto", "watchdog")), tmp_path / "raw.parquet")
    assert len(designed) == 3 * 5 + 2  # and each bound alone
    # The policy's own design is among those that are chosen from, and made once more with rare values pooled and
    # without each column; latent classes have a response of their own.
    assert sorted(designed.values()) == [1] * 15 + [2, 5]
    designed.clear()
    make_plan(sz.Policy.from_toml(POLICY), tmp_path / "raw.parquet")  # draws curves
    assert sorted(designed.values()) == [1] * 16 + [5]


def test_of_equal_designs_a_plan_takes_the_policys_own_and_then_the_simplest():
    shares = {
        "subset-merging": 0.5,
        "watchdog": 0.5 + 1e-9,
        "optimal-random-response": 0.6,
        "subset-random-response": 0.6,
    }

    def drafts():
        made = Drafts(sz.Policy.from_toml(POLICY.replace('"auto"', '"subset-merging"')), None, 8)
        for name, share in shares.items():
            for multiple in (0.5, 1.0):
                kept = {"normalized_utility": share - (multiple < 1) / 10}
                made.reports[name, multiple] = SimpleNamespace(summary=kept, n_rows=None)
        return made

    assert drafts().better() == ("optimal-random-response", 1.0)
    shares["optimal-random-response"] = shares["subset-random-response"] = 0.5 + 1e-9
    assert drafts().better() is None


def test_auto_is_for_one_channel_alone():
    several = POLICY.replace('public = ["class", "sex"]\n', "").replace(
        "[channel]", '[[channel]]\nname = "one"\npublic = ["class", "sex"]\nbudget = {lower = 1, upper = 1}'
    )
    with pytest.raises(PolicyError, match=r"auto works only with a single .channel."):
        sz.Policy.from_toml(several)
