"""The dossier of a release and the papers beside it: what they say, and that verify finds every edit."""

from __future__ import annotations

import hashlib
import json
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands_cases import POLICY, assert_line, left_in, table
from report_cases import Page

import sanitize as sz
from sanitize.auditing.verify import Verification
from sanitize.errors import SourceError

PAPERS = ["dossier.croissant.json", "dossier.html", "dossier.intoto.json"]
ASKED = ["--released", "out.parquet", "-p", "policy.toml"]
VERIFY = ["verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml"]
HEAD = 'title = "<i>Clinic</i> | 2026"\ndate = 2026-01-31\nledger = "book.ledger"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with its report, channel and verification, and the papers of all of it."""
    from sanitize.cli import main

    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        pq.write_table(table(), "raw.parquet")
        (place / "policy.toml").write_text(HEAD + POLICY)
        sz.Ledger("book.ledger", sz.LiftBudget(lower=1.5, upper=0.5))
        saved = ["--report", "report.json", "--channel", "channel.json"]
        assert main(["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", *saved]) == 0
        found = sz.verify_file("out.parquet", "raw.parquet", sz.Policy.read("policy.toml"))
        (place / "verified.json").write_text(found.to_json())
        options = [*ASKED, "--channel", "channel.json", "--verified", "verified.json"]
        assert main(["report", "report.json", "--dossier", "dossier.html", *options]) == 0
    return place


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A copy of it to spoil."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def failed(run) -> list[str]:
    code, out, _ = run(*VERIFY, "--statement", "dossier.intoto.json", "--json")
    names = [check["name"] for check in json.loads(out)["checks"] if not check["ok"]]
    assert code == (1 if names else 0)
    return names


def sha256(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def restate(place, kind: str) -> None:
    """Make the statement name the file as it is now, as a forger would."""
    path = place / "dossier.intoto.json"
    statement = json.loads(path.read_text())
    entry = statement["predicate"][kind]
    if "digest" in entry:
        entry["digest"]["sha256"] = sha256(place / entry["name"])
    path.write_text(json.dumps(statement))


def test_papers_of_an_honest_release_pass(place, run):
    assert set(PAPERS) < set(left_in(place))
    assert failed(run) == []
    statement = json.loads((place / "dossier.intoto.json").read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [{"name": "out.parquet", "digest": {"sha256": sha256(place / "out.parquet")}}]
    named = {kind: entry for kind, entry in statement["predicate"].items() if kind != "libraryVersion"}
    assert named.pop("croissant") == {"name": "dossier.croissant.json"}
    assert set(named) == {"policy", "report", "channel"}
    assert all(entry["digest"]["sha256"] == sha256(place / entry["name"]) for entry in named.values())


def test_the_dossier_may_be_filled_in_and_the_released_file_renamed(place, run):
    with (place / "dossier.html").open("a") as page:
        page.write("<!-- signed -->")
    (place / "out.parquet").rename(place / "handed_out.parquet")
    code, out, _ = run("verify", "handed_out.parquet", *VERIFY[2:], "--statement", "dossier.intoto.json")
    assert (code, "FAIL  croissant" in out) == (1, True)  # its metadata names the file, so that goes with the name
    assert "FAIL  statement" not in out


def test_another_release_under_the_same_policy_is_not_the_one_that_is_named(place, run):
    sz.release_file("raw.parquet", "out.parquet", sz.Policy.read("policy.toml").sanitizer(), force=True)
    assert failed(run) == ["statement", "report", "croissant"]


def test_licence_and_authors_may_be_added_to_the_metadata(place, run):
    path = place / "dossier.croissant.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"license": "CC-BY-4.0", "name": "Another name"}))
    assert failed(run) == []
    path.unlink()
    assert failed(run) == ["statement", "croissant"]


@pytest.mark.parametrize("name", ["report.json", "policy.toml", "channel.json"])
def test_an_edited_paper_is_found(name, place, run):
    path = place / name
    path.write_bytes(path.read_bytes() + b"\n")
    assert failed(run) == ["statement"]
    if name != "policy.toml":  # which verify reads itself
        path.unlink()
        assert "statement" in failed(run)


def _figure(text: str) -> str:
    report = json.loads(text)
    for measure in report["measures"]:
        if measure["name"] == "mutual_information":
            measure["after"] /= 2
    return json.dumps(report)


def _columns(text: str) -> str:
    metadata = json.loads(text)
    metadata["recordSet"][0]["field"].pop()
    return json.dumps(metadata)


@pytest.mark.parametrize(
    ("kind", "name", "edit"),
    [
        ("report", "report.json", _figure),
        ("report", "report.json", lambda text: text.replace('"seeded": false', '"seeded": true')[:-5]),
        ("croissant", "dossier.croissant.json", _columns),
        ("croissant", "dossier.croissant.json", lambda text: text.replace("croissant/1.1", "croissant/1.0")),
        ("croissant", "dossier.croissant.json", lambda text: text.replace('"cr:source"', '"sc:url"')),
    ],
)
def test_an_edited_paper_is_found_though_the_statement_was_edited_too(kind, name, edit, place, run):
    path = place / name
    path.write_text(edit(path.read_text()))
    restate(place, kind)
    assert failed(run) == [kind]


def test_another_policy_beside_the_statement_is_found(place, run):
    (place / "other.toml").write_text((place / "policy.toml").read_text().replace("upper = 0.5", "upper = 0.6"))
    statement = json.loads((place / "dossier.intoto.json").read_text())
    statement["predicate"]["policy"] = {"name": "other.toml", "digest": {"sha256": sha256(place / "other.toml")}}
    (place / "dossier.intoto.json").write_text(json.dumps(statement))
    assert failed(run) == ["statement"]


@pytest.mark.slow
@pytest.mark.parametrize("content", ["[]", "{}", '{"_type": "https://in-toto.io/Statement/v1", "subject": 3}', "7"])
def test_what_is_no_statement_fails(content, place, run):
    (place / "dossier.intoto.json").write_text(content)
    assert failed(run) == ["statement", "report", "croissant"]


@pytest.mark.parametrize("name", ["../report.json", "/etc/passwd", "", "..", "a\0b", 7, None])
def test_a_statement_names_files_of_its_folder_only(name, place, run):
    statement = json.loads((place / "dossier.intoto.json").read_text())
    statement["predicate"]["report"]["name"] = name
    (place / "dossier.intoto.json").write_text(json.dumps(statement))
    code, out, _ = run(*VERIFY, "--statement", "dossier.intoto.json")
    assert code == 1
    assert "it names no report" in out
    assert "passwd" not in out


def test_3_a_statement_that_cannot_be_read(place, run):
    (place / "dossier.intoto.json").write_bytes(b"SECRET\xff")
    for name in ("dossier.intoto.json", "nowhere.json"):
        code, out, err = run(*VERIFY, "--statement", name)
        assert (code, out) == (3, "")
        assert_line(err, f"the statement {name} cannot be read")


def test_chapters_come_in_order_with_blanks_and_escaped(place, run):
    page = Page((place / "dossier.html").read_text())
    words = " ".join(" ".join(page.words).split())
    order = ["1 Context", "2 Data", "3 Identifiability", "4 Mitigation", "5 Governance"]
    assert sorted(order, key=words.index) == order
    assert "<i>Clinic</i> | 2026" in words  # as text: the tag was escaped
    assert "i" not in {tag for tag, _ in page.tags}
    assert not {"script", "img", "link", "a"} & {tag for tag, _ in page.tags}
    assert sum(found.get("class") == "blank" for _, found in page.tags) >= 12
    assert "The ledger of this table holds 1 release(s)" in words
    assert "counts passed" in words
    assert sha256(place / "verified.json") in words
    assert "conformity is not claimed" in words
    assert run("report", "report.json", "--dossier", "d.md", *ASKED)[0] == 0
    text = (place / "d.md").read_text()
    assert text.startswith("# \\<i\\>Clinic\\</i\\> \\| 2026\n")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == order
    assert "Verification: none was given" in text
    assert "holds no attack on the released rows" in text
    heads = 0
    for line in text.splitlines():
        if line.startswith("|"):
            cells = line.replace("\\|", "").count("|")
            assert heads in (0, cells)
            heads = cells
        else:
            heads = 0


def test_why_this_threshold_is_what_the_policy_says(place, run):
    assert "Agreed" not in (place / "dossier.html").read_text()
    (place / "policy.toml").write_text('reason = "Agreed with <the> clinic."\n' + (place / "policy.toml").read_text())
    assert run("report", "report.json", "--dossier", "why.html", *ASKED)[0] == 0
    page = Page((place / "why.html").read_text())
    assert "Why this threshold: Agreed with <the> clinic." in " ".join(" ".join(page.words).split())


def test_a_public_dossier_has_no_figure_and_no_other_column(place, run):
    assert run("report", "report.json", "--audience", "public", "-o", "public.json")[0] == 0
    assert run("report", "public.json", "--dossier", "public.md", *ASKED, "--verified", "verified.json")[0] == 0
    text = (place / "public.md").read_text()
    assert "counts" in text
    assert not {"400", "raw.parquet", "age"} & set(text.replace("|", " ").split())
    assert sha256(place / "verified.json") not in text
    statement = json.loads((place / "public.intoto.json").read_text())
    assert set(statement["predicate"]) == {"libraryVersion", "policy", "report", "croissant"}
    assert run(*VERIFY, "--statement", "public.intoto.json")[0] == 0


@pytest.mark.parametrize(
    ("report", "more", "words"),
    [
        ("report.json", ["--audience", "public"], "sanitize report report.json --audience public -o public.json"),
        ("public.json", ["--channel", "channel.json"], "leave --channel out"),
    ],
)
def test_a_public_dossier_names_no_paper_of_the_owner(report, more, words, place, run):
    """A digest of the owner's report is a function of every row."""
    assert run("report", "report.json", "--audience", "public", "-o", "public.json")[0] == 0
    code, out, err = run("report", report, "--dossier", "d.md", *ASKED, *more)
    assert (code, out) == (2, "")
    assert words in err
    assert not (place / "d.md").exists()


def test_a_public_dossier_names_no_policy_whose_comments_count_values(place, run):
    """A number of different values of a draft turns with one person, and so does the digest of the file."""
    assert run("report", "report.json", "--audience", "public", "-o", "public.json")[0] == 0
    assert run("init", "raw.parquet", "-o", "draft.toml")[0] == 0
    policy, draft = (place / "policy.toml").read_text(), (place / "draft.toml").read_text()
    comments = [line for line in draft.splitlines() if re.search(r"#.* \d+ different", line)]
    assert len(comments) >= 3
    for comment in comments:
        (place / "policy.toml").write_text(f"{policy}\n#{comment.partition('#')[2]}\n")
        code, _, err = run("report", "public.json", "--dossier", "d.md", *ASKED)
        assert code == 2
        assert "take these comments out" in err
        assert not (place / "d.md").exists()


def test_findings_are_adversarial_tests(place, run):
    released = pq.read_table("out.parquet").to_pandas()
    policy = sz.Policy.read("policy.toml")
    source = pq.read_table("raw.parquet").to_pandas()
    report = policy.sanitizer().fit(source).report_
    found = sz.auditing.attack.link(source[["town", "floor"]], released, policy.sanitizer().fit(source).channel_)
    report.with_findings(found).to_json("attacked.json")
    assert run("report", "attacked.json", "--dossier", "d.md", *ASKED)[0] == 0
    assert "Tried on the release: An adversary who knows" in (place / "d.md").read_text()


# ------------------------------------------------------------------------------------------ where it goes


@pytest.mark.parametrize("there", ["d.md", "d.croissant.json", "d.intoto.json"])
def test_4_papers_that_are_there_are_left_alone(there, place, run):
    (place / there).write_text("mine")
    before = left_in(place)
    code, out, err = run("report", "report.json", "--dossier", "d.md", *ASKED)
    assert (code, out) == (4, "")
    assert_line(err, f"{there} exists already")
    assert left_in(place) == before
    assert (place / there).read_text() == "mine"
    assert run("report", "report.json", "--dossier", "d.md", *ASKED, "--force")[0] == 0


def test_4_no_paper_replaces_a_file_of_the_run(place, run):
    shutil.copy("policy.toml", "p.html")
    shutil.copy("report.json", "r.croissant.json")
    for argv in (
        ["report.json", "--dossier", "p.html", "--released", "out.parquet", "-p", "p.html"],
        ["r.croissant.json", "--dossier", "r.md", *ASKED],
    ):
        before = {name: (place / name).read_bytes() for name in left_in(place)}
        code, _, err = run("report", *argv, "--force")
        assert code == 4
        assert_line(err)
        assert {name: (place / name).read_bytes() for name in left_in(place)} == before


def test_a_run_that_fails_late_leaves_nothing(place, run, monkeypatch):
    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr("sanitize.cli._dossier.dossier", broken)
    before = left_in(place)
    assert run("report", "report.json", "--dossier", "d.md", *ASKED)[0] == 5
    assert left_in(place) == before


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--dossier", "d.md"], "--dossier also needs --released, -p"),
        (["--dossier", "d.md", "-p", "policy.toml"], "--dossier also needs --released"),
        (["--released", "out.parquet"], "--released needs --dossier"),
        (["-p", "policy.toml"], "-p needs --dossier"),
        (["--dossier", "d.pdf", *ASKED], "ending in .html or .md"),
        (["--dossier", "d.md", *ASKED, "--json"], "--dossier writes its own files"),
    ],
)
def test_2_half_a_dossier(argv, words, place, run):
    before = left_in(place)
    code, out, err = run("report", "report.json", *argv)
    assert (code, out) == (2, "")
    assert words in err
    assert left_in(place) == before


def test_papers_lie_in_one_folder(place, run):
    (place / "elsewhere").mkdir()
    code, _, err = run("report", "report.json", "--dossier", "elsewhere/d.md", *ASKED)
    assert code == 2
    assert_line(err, "lies in another folder than the dossier")
    assert left_in(place / "elsewhere") == []


def test_3_a_report_that_says_a_thing_twice_is_read_as_strictly_as_by_itself(place, run):
    text = (place / "report.json").read_text().lstrip()
    (place / "report.json").write_text('{"version": 1, ' + text[1:])
    before = left_in(place)
    code, _, err = run("report", "report.json", "--dossier", "d.md", *ASKED)
    assert code == 3
    assert_line(err, "the report cannot be read: a name occurs twice")
    assert left_in(place) == before


def test_3_papers_of_another_file_are_refused(place, run):
    pq.write_table(pa.table({"town": ["Aa"], "floor": [1]}), "other.parquet")
    options = ["--released", "other.parquet", "-p", "policy.toml"]
    code, _, err = run("report", "report.json", "--dossier", "d.md", *options)
    assert code == 3
    assert_line(err, "the report belongs to another file")
    report = json.loads((place / "report.json").read_text())
    report["origin"] = None
    (place / "nameless.json").write_text(json.dumps(report))
    code, _, err = run("report", "nameless.json", "--dossier", "d.md", *options, "--verified", "verified.json")
    assert code == 3
    assert_line(err, "the verification belongs to another file")
    assert not list(place.glob("d.*"))


# ------------------------------------------------------------------------------------------ machine-readable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A release of a folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    for part in range(2):
        pq.write_table(table(200).slice(100 * part, 100), tmp_path / "raw" / f"{part}.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_papers_of_a_folder(folder, run):
    assert run("release", "raw", "-o", "out", "-p", "policy.toml", "--report", "report.json")[0] == 0
    asked = ["--released", "out", "-p", "policy.toml"]
    assert run("report", "report.json", "--dossier", "out/d.md", *asked)[0] in (2, 4)
    assert run("report", "report.json", "--dossier", "d.md", *asked)[0] == 0
    argv = ["verify", "out", "--source", "raw", "-p", "policy.toml", "--statement", "d.intoto.json"]
    assert run(*argv)[0] == 0
    metadata = json.loads((folder / "d.croissant.json").read_text())
    files = [entry for entry in metadata["distribution"] if entry["@type"] == "cr:FileObject"]
    assert {entry["@id"]: entry["sha256"] for entry in files} == {
        f"out/{path.name}": sha256(path) for path in (folder / "out").iterdir()
    }
    first = min((folder / "out").iterdir())
    first.write_bytes(first.read_bytes() + b"\0")
    assert run(*argv)[0] in (1, 3)


def test_metadata_is_that_of_the_file_read_anew(place):
    """The slow twin: fields from pyarrow's own schema, the digest from hashlib, and the keys of Croissant 1.1."""
    metadata = json.loads((place / "dossier.croissant.json").read_text())
    assert metadata["conformsTo"] == metadata["@context"]["cr"] + "1.1"
    assert {"@context", "@type", "name", "description", "conformsTo", "datePublished"} <= set(metadata)
    (file,) = metadata["distribution"]
    assert (file["contentUrl"], file["sha256"]) == ("out.parquet", sha256(place / "out.parquet"))
    (rows,) = metadata["recordSet"]
    kinds = {"string": "sc:Text", "int64": "sc:Integer"}
    schema = pq.read_schema("out.parquet")
    wanted = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        wanted.append((name, kinds[str(value)]))
    assert [(field["name"], field["dataType"]) for field in rows["field"]] == wanted
    for field in rows["field"]:
        assert field["source"] == {"fileObject": {"@id": file["@id"]}, "extract": {"column": field["name"]}}
    ids = [entry["@id"] for entry in (*metadata["distribution"], rows, *rows["field"])]
    assert len(set(ids)) == len(ids)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_metadata_is_read_by_the_reference_implementation(place):
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(jsonld=place / "dossier.croissant.json")
    assert not found.metadata.ctx.issues.errors
    assert str(found.metadata.ctx.conforms_to.value).endswith("/1.1")
    released = pq.read_table("out.parquet").to_pylist()
    rows = [
        {
            name.removeprefix("rows/"): value.decode() if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        for row in found.records("rows")
    ]
    assert rows == released


def test_a_saved_verification_comes_back(place):
    saved = json.loads((place / "verified.json").read_text())
    found = Verification.from_dict(saved)
    assert found.to_dict() == saved
    assert found.digest == f"sha256:{sha256(place / 'out.parquet')}"
    for edit in (
        {"ok": False},
        {"checks": []},
        {"checks": [{"name": 1, "ok": True, "detail": ""}]},
        {"false_alarm": 2.0},
        {"schema": "x"},
        {"digest": 7},
        {"more": 1},
    ):
        with pytest.raises(SourceError):
            Verification.from_dict(saved | edit)
    with pytest.raises(SourceError, match=r"checks\[0\]\.ok must be true or false"):
        Verification.from_dict(saved | {"checks": [{"name": "", "ok": 1, "detail": ""}]})
    with pytest.raises(SourceError):
        Verification.from_dict([saved])
