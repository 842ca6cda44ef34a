"""Parts, floors and doors: who may import whom, read from the source; and what an import brings along."""

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
errors _version
_util
tables
core
mechanisms report
release
transformers frames pandas polars over_time theory
people
policy
engines
auditing
cli __main__ datasets
"""
ROOMS = {room: place for place, room in enumerate(FLOORS.split())}
# Rooms of several parts: a part is one file or folder of them, and is imported by its face.
OF_PARTS = {"core", "theory", "engines", "auditing"}
# Rooms whose files are named directly.
MACHINERY = {"_util", "tables", "release"}

# Where a library comes in; a name that ends in / is a folder.
TABLES = ("sanitize/tables/", "sanitize/release/", "sanitize/core/alphabet.py", "sanitize/core/binning/")
# Parts whose files are loaded when a name of theirs is first used.
LAZY = (
    "auditing",
    "auditing/attack",
    "core",
    "core/bounds",
    "core/capacity",
    "datasets",
    "engines",
    "engines/parquet",
    "mechanisms",
    "policy",
    "release",
    "theory",
    "theory/accounting",
    "theory/anonymity",
    "theory/tradeoff",
)
DOORS = {
    "cryptography": ("sanitize/_util/sampling/noise.py",),
    "jinja2": ("sanitize/report/",),
    "msgspec": ("sanitize/_util/declared.py",),
    "tqdm": ("sanitize/_util/progress.py",),
    "dask": ("sanitize/engines/dask.py",),
    "distributed": ("sanitize/engines/dask.py",),
    "lazy_loader": (
        "sanitize/__init__.py",
        *(f"sanitize/{part}/__init__.py" for part in LAZY),
    ),
    "pyspark": ("sanitize/engines/spark.py",),
    "sqlglot": ("sanitize/engines/sql/",),
    "sklearn": (
        "sanitize/transformers/",
        "sanitize/release/adversaries.py",
        "sanitize/auditing/attack/_downstream.py",
        "sanitize/people/_history.py",
    ),
    "threadpoolctl": (
        "sanitize/release/adversaries.py",
        "sanitize/release/classes/_model.py",
        "sanitize/auditing/verify/_verify.py",
    ),
    "polars": ("sanitize/tables/", "sanitize/polars.py"),
    "pandas": (
        "sanitize/tables/",
        "sanitize/auditing/analyze/",
        "sanitize/frames.py",
        "sanitize/pandas.py",
        "sanitize/report/",
        "sanitize/datasets/",
    ),
    "pyarrow": (
        *TABLES,
        "sanitize/_util/declared.py",
        "sanitize/_util/sealed_text.py",
        "sanitize/auditing/analyze/",
        "sanitize/core/joint.py",
        "sanitize/release/classes/",
        "sanitize/cli/_meanings.py",
        "sanitize/cli/_policy_skeleton.py",
        "sanitize/over_time/",
        "sanitize/release/saved/",
        "sanitize/engines/parquet/",
        "sanitize/people/",
        "sanitize/auditing/verify/",
        "sanitize/engines/sql/",
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

    @property
    def part(self) -> str:
        """The room, or what stands in one of several parts."""
        parts = self.module.split(".")
        return ".".join(parts[1:3]) if self.room in OF_PARTS else self.room


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
    assert {"sanitize.core.joint", "sanitize.mechanisms._merging.watchdog", "sanitize.datasets"} <= set(sources())
    assert len(edges()) > 500


def test_every_room_has_a_place():
    assert {source.room for source in sources().values() if source.room} == set(ROOMS)
    assert len(ROOMS) <= 22


def test_a_room_imports_only_rooms_below_it_or_to_its_left():
    wrong = [
        f"{source.path}:{imported.line} imports {imported.module}"
        for source, imported, found in edges()
        if source.room != found.room and ROOMS[found.room] > ROOMS[source.room]
    ]
    assert not wrong, "\n".join(wrong)


def test_few_rooms_know_one_another():
    pairs = {(source.room, found.room) for source, _, found in edges() if source.room != found.room}
    assert len(FLOORS.split("\n")) - 2 <= 14
    assert len(pairs) <= 120
    assert {above for above, below in pairs if below == "theory"} == set()
    assert {above for above, below in pairs if below == "people"} <= {"policy", "engines", "cli"}
    judging = ("sanitize.auditing.attack._judge", "sanitize.cli._judge")
    callers = {source.module for source, _, found in edges() if found.module == judging[0]}
    assert callers <= {"sanitize.auditing.attack", *judging}


def test_another_part_is_imported_by_its_face():
    wrong = [
        f"{source.path}:{imported.line} imports {imported.module}"
        for source, imported, found in edges()
        if source.part != found.part and found.room not in MACHINERY and found.module != "sanitize." + found.part
    ]
    assert not wrong, "\n".join(wrong)


def test_no_private_name_leaves_its_part():
    wrong = [
        f"{source.path}:{imported.line} imports {imported.module}"
        for source, imported, found in edges()
        if source.part != found.part
        and imported.module.rpartition(".")[2].startswith("_")
        and imported.module not in (f"sanitize.{found.part}", "sanitize._version.__version__")
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
    assert loose == {"_version"}


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
        "import sanitize.core.lifts",
        "import sanitize.core.measures",
        "import sanitize.mechanisms",
        "from sanitize.core.channel import Channel",
        "from sanitize.core.lifts import max_lift",
        "import sanitize as sz; sz.watchdog; sz.max_lift",
        "import importlib; importlib.import_module('sanitize.core.lifts')",
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
parts = [name for name in names if isinstance(getattr(sz, name), types.ModuleType)]
few = len({getattr(sz, name) for name in names}) - len(parts) <= 58
print(few, [name for name in parts if f"sanitize.{name}" != getattr(sz, name).__name__])
"""
    assert run(code) == "True []"


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="attribute nonsense"):
        _ = sanitize.nonsense


# Libraries and parts that a plain release has no use for: each takes longer to load than a small table to release.
IDLE = ("sklearn", "joblib", "scipy.stats", "scipy.optimize", "jinja2", "narwhals", "polars", "matplotlib")
IDLE_PARTS = ("transformers", "release.choosing", "theory", "over_time", "release.saved", "auditing")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "idle"),
    [
        (
            ["release", "-o", "out.parquet", "--lower", "1", "--upper", "1"],
            {*IDLE, *(f"sanitize.{part}" for part in IDLE_PARTS)},
        ),
        (["audit"], {*IDLE, *(f"sanitize.{part}" for part in IDLE_PARTS)}),
        (["plan", "--lower", "1", "--upper", "1"], {"sanitize.transformers", "polars", "matplotlib"}),
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


@pytest.mark.parametrize("part", LAZY)
def test_a_lazy_face_has_the_names_that_its_stub_shows(part):
    for engine in ("dask", "pyspark") if part == "engines" else ():
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    face = importlib.import_module("sanitize." + part.replace("/", "."))
    stub = ast.parse((ROOT / "sanitize" / part / "__init__.pyi").read_text(encoding="utf-8"))
    names = {alias.asname for node in stub.body for alias in node.names}
    assert set(face.__all__) <= names
    assert all(getattr(face, name) is not None for name in names)
