"""Rooms, floors and doors: who may import whom, read from the source; and what an import brings along."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import sanitize

ROOT = Path(__file__).resolve().parents[2]

# A room imports rooms of lower floors, and on its own floor only those to its left.
FLOORS = """
errors _version _tolerances _limits _checks _formatting _progress
_sampling _tables _files
alphabet binning channel joint
lifts measures notions capacity individual budgets bounds conversions confidence
tradeoff accounting anonymity classes mechanisms
report suggestion plots attack analyze
_release transformers frame pandas polars
saved ledger parquet relational policy dask spark verify sql cli __main__ datasets
"""
PLACES = {room: place for place, room in enumerate(FLOORS.split())}
# Rooms whose files are named directly; every other room is imported by its face.
MACHINERY = {"_sampling", "_tables", "_files", "_release"}
LOOSE = {"_version", "_tolerances", "_limits", "_checks", "_formatting", "_progress"}

# Where a library comes in; a name that ends in / is a folder.
TABLES = ("sanitize/_tables/", "sanitize/_files/", "sanitize/_release/", "sanitize/alphabet.py", "sanitize/binning/")
# Rooms whose files are loaded when a name of theirs is first used.
LAZY = (
    "accounting",
    "anonymity",
    "attack",
    "bounds",
    "capacity",
    "datasets",
    "mechanisms",
    "parquet",
    "policy",
    "tradeoff",
)
DOORS = {
    "cryptography": ("sanitize/_sampling/noise.py",),
    "jinja2": ("sanitize/report/",),
    "msgspec": ("sanitize/_files/declared.py",),
    "matplotlib": ("sanitize/report/", "sanitize/plots.py"),
    "tqdm": ("sanitize/_progress.py",),
    "dask": ("sanitize/dask.py",),
    "distributed": ("sanitize/dask.py",),
    "lazy_loader": (
        "sanitize/__init__.py",
        *(f"sanitize/{room}/__init__.py" for room in LAZY),
    ),
    "pyspark": ("sanitize/spark.py",),
    "sqlglot": ("sanitize/sql/",),
    "sklearn": (
        "sanitize/transformers/",
        "sanitize/attack/_adversaries.py",
        "sanitize/attack/_downstream.py",
        "sanitize/relational/_history.py",
    ),
    "threadpoolctl": ("sanitize/attack/_adversaries.py", "sanitize/classes/_model.py", "sanitize/verify/_verify.py"),
    "polars": ("sanitize/_tables/", "sanitize/polars.py"),
    "pandas": (
        "sanitize/_tables/",
        "sanitize/analyze/",
        "sanitize/frame.py",
        "sanitize/pandas.py",
        "sanitize/report/",
        "sanitize/datasets/",
    ),
    "pyarrow": (
        *TABLES,
        "sanitize/analyze/",
        "sanitize/joint.py",
        "sanitize/classes/",
        "sanitize/cli/_meanings.py",
        "sanitize/cli/_policy_skeleton.py",
        "sanitize/ledger/",
        "sanitize/saved/",
        "sanitize/parquet/",
        "sanitize/relational/",
        "sanitize/verify/",
        "sanitize/sql/",
    ),
}
# The numbers themselves are everywhere.
FREE = {"numpy", "scipy", "sanitize", "_typeshed"}


@dataclass(frozen=True)
class Imported:
    """One import of a file, wherever it stands: at the top, in a function, for type checkers, or by name."""

    module: str
    line: int


@dataclass(frozen=True)
class Source:
    """One file of the library."""

    path: str
    module: str
    imports: tuple[Imported, ...]

    @property
    def room(self) -> str:
        return self.module.split(".")[1] if "." in self.module else ""


@cache
def sources() -> dict[str, Source]:
    """Every file by its module, read once; symbolic links are followed, as Python does."""
    found = {}
    for path in sorted(walk()):
        name = path.relative_to(ROOT).as_posix()
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found[module] = Source(name, module, tuple(imports_of(path, name)))
    return found


def walk() -> list[Path]:
    """Files below the library and below the folders it links to."""
    top = ROOT / "sanitize"
    linked = [path for path in top.iterdir() if path.is_symlink()]
    return [*top.rglob("*.py"), *(file for link in linked for file in link.glob("*.py"))]


def imports_of(path: Path, name: str) -> list[Imported]:
    """Every import of a file; ``import_module("...")`` counts."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [Imported(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: relative import"
            found += [Imported(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = node.args[0]
            if isinstance(text, ast.Constant):
                found.append(Imported(str(text.value), node.lineno))
    return found


def target(imported: Imported) -> Source | None:
    """File of ours that an import names: the module itself, or the one that a name is imported from."""
    module = imported.module
    while module.startswith("sanitize."):
        if module in sources():
            return sources()[module]
        module = module.rpartition(".")[0]
    return None


def edges() -> list[tuple[Source, Imported, Source]]:
    """Who imports which file of ours, but the hall, which hands all faces on."""
    return [
        (source, imported, found)
        for source in sources().values()
        if source.module != "sanitize"
        for imported in source.imports
        if (found := target(imported)) is not None and found != source
    ]


def test_there_are_sources_to_check():
    assert {"sanitize.joint", "sanitize.mechanisms._merging.watchdog", "sanitize.datasets"} <= set(sources())
    assert len(edges()) > 500


def test_every_room_has_a_place():
    assert {source.room for source in sources().values() if source.room} <= set(PLACES)


def test_a_room_imports_only_rooms_below_it_or_to_its_left():
    wrong = [
        f"{source.path}:{imported.line} imports {imported.module}"
        for source, imported, found in edges()
        if source.room != found.room and PLACES[found.room] > PLACES[source.room]
    ]
    assert not wrong, "\n".join(wrong)


def test_another_room_is_imported_by_its_face():
    wrong = [
        f"{source.path}:{imported.line} imports {imported.module}"
        for source, imported, found in edges()
        if source.room != found.room and found.room not in MACHINERY and found.module.count(".") > 1
    ]
    assert not wrong, "\n".join(wrong)


def test_no_private_name_leaves_its_room():
    wrong = [
        f"{source.path}:{imported.line} imports {imported.module}"
        for source, imported, found in edges()
        if source.room != found.room
        and imported.module.rpartition(".")[2].startswith("_")
        and found.room not in LOOSE
        and imported.module != f"sanitize.{found.room}"
    ]
    assert not wrong, "\n".join(wrong)


def test_files_form_no_circle():
    below = {module: set() for module in sources()}
    for source, _, found in edges():
        # A face is what its files make it; a file that imports its own face would be a circle.
        below[source.module].add(found.module)
    while True:
        leaves = {module for module, needed in below.items() if not needed}
        if not leaves:
            break
        below = {module: needed - leaves for module, needed in below.items() if module not in leaves}
    assert not below, f"files that import one another: {sorted(below)}"


def test_private_files_stand_in_rooms():
    loose = {path.stem for path in (ROOT / "sanitize").glob("_*.py")} - {"__init__", "__main__"}
    assert loose == LOOSE
    assert len([path for path in (ROOT / "sanitize").iterdir() if path.name != "__pycache__"]) <= 54


def test_faces_hold_no_code():
    for source in sources().values():
        if (
            source.path.endswith("/__init__.py")
            and source.module != "sanitize"
            and source.room not in {"cli", "datasets"}
        ):
            text = (ROOT / source.path).read_text(encoding="utf-8")
            body = ast.parse(text).body
            allowed = (ast.Expr, ast.ImportFrom, ast.Assign)
            assert all(isinstance(node, allowed) or ast.unparse(node) == "import lazy_loader" for node in body), (
                f"{source.path} holds code"
            )
            listed = (ast.get_source_segment(text, body[-1]) if body else "") or ""
            assert text.count("\n") - listed.count("\n") <= 80, f"{source.path} is long for a face"


@pytest.mark.slow
@pytest.mark.parametrize("library", sorted(DOORS))
def test_each_library_comes_in_by_its_door(library):
    wrong = [
        f"{source.path}:{imported.line}"
        for source in sources().values()
        for imported in source.imports
        if imported.module.partition(".")[0] == library and not source.path.startswith(DOORS[library])
    ]
    assert not wrong, f"{library} is imported by {wrong}"


def test_every_library_has_a_door():
    used = {imported.module.partition(".")[0] for source in sources().values() for imported in source.imports}
    assert used - set(sys.stdlib_module_names) - FREE - {"__future__"} <= set(DOORS)


def test_no_file_is_called_utils():
    names = {part for source in sources().values() for part in source.module.split(".")}
    assert not names & {"utils", "_utils", "util", "helpers", "_helpers", "common", "misc"}


def run(code: str) -> str:
    """Output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_library_brings_no_heavy_dependency():
    heavy = [
        "sklearn",
        "pandas",
        "pyarrow",
        "matplotlib",
        "scipy",
        "polars",
        "jinja2",
        "cryptography",
    ]
    assert run(f"import sys, sanitize; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        "import sanitize.lifts",
        "import sanitize.measures",
        "import sanitize.mechanisms",
        "from sanitize.channel import Channel",
        "from sanitize.lifts import max_lift",
        "import sanitize as sz; sz.watchdog; sz.max_lift",
        "import importlib; importlib.import_module('sanitize.lifts')",
    ],
)
def test_lift_is_the_function_whatever_was_imported_first(first):
    assert run(f"{first}\nimport sanitize as sz\nprint(type(sz.lift).__name__)") == "function"


@pytest.mark.slow
def test_every_public_name_resolves():
    code = """
import sanitize as sz
import types
names = [name for name in dir(sz) if name != "__version__"]
rooms = [name for name in names if isinstance(getattr(sz, name), types.ModuleType)]
few = len({getattr(sz, name) for name in names}) - len(rooms) <= 58
print(few, [name for name in rooms if f"sanitize.{name}" != getattr(sz, name).__name__])
"""
    assert run(code) == "True []"


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="attribute nonsense"):
        _ = sanitize.nonsense


# Libraries and rooms that a plain release has no use for: each takes longer to load than a small table to release.
IDLE = ("sklearn", "joblib", "scipy.stats", "scipy.optimize", "jinja2", "narwhals", "polars", "matplotlib")
IDLE_ROOMS = ("transformers", "suggestion", "tradeoff", "classes", "ledger", "saved", "verify", "attack")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "idle"),
    [
        (["release", "-o", "out.parquet", "-e", "1"], {*IDLE, *(f"sanitize.{room}" for room in IDLE_ROOMS)}),
        (["audit"], {*IDLE, *(f"sanitize.{room}" for room in IDLE_ROOMS)}),
        (["plan", "-e", "1"], {"sklearn", "joblib", "sanitize.transformers"}),
    ],
    ids=["release", "audit", "plan"],
)
def test_a_command_loads_no_library_that_it_does_not_use(command, idle, tmp_path):
    table = tmp_path / "raw.parquet"
    sanitize.datasets.load_titanic().to_parquet(table)
    argv = [command[0], str(table), *command[1:], "-s", "survived", "-x", "class"]
    code = f"""
import os, sys
os.chdir({str(tmp_path)!r})
from sanitize.cli import main
assert main({argv!r}) == 0
print(sorted({idle!r}.intersection(sys.modules)))
"""
    assert run(code).splitlines()[-1] == "[]"


@pytest.mark.parametrize("room", LAZY)
def test_a_lazy_face_has_the_names_that_its_stub_shows(room):
    face = importlib.import_module(f"sanitize.{room}")
    stub = ast.parse((ROOT / "sanitize" / room / "__init__.pyi").read_text(encoding="utf-8"))
    names = {alias.asname for node in stub.body for alias in node.names}
    assert set(face.__all__) <= names
    assert all(getattr(face, name) is not None for name in names)
