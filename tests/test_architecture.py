"""Rooms and doors: who may import whom, read from the source; and what an import brings along."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sanitize

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for top in ("sanitize", "transformers", "datasets")
    for path in (ROOT / top).rglob("*.py")
    if not any((ROOT / top / part).is_symlink() for part in path.relative_to(ROOT / top).parts[:1])
)

# A room imports only rooms above it; rooms on one line may import each other. A private file that is not listed
# is a part of the rooms that import it, and stands just under what it imports itself.
ORDER = """
_version
errors
_random
_columns
alphabet
joint
_sampler
_stage
channel
_rows
lift
budgets
measures
confidence
bounds conversions tradeoff accounting capacity individual neighbours notions identifiability balance
binning
mechanisms
report _render
curve suggestion plots
_design
_release
_frame
attack anonymity
transformers
frame
ledger
saved
parquet
policy
verify
pandas polars dask spark
cli
__main__
datasets
"""
RANKS = {room: rank for rank, line in enumerate(ORDER.strip().splitlines()) for room in line.split()}

# The one place, or the few, that may import a library; a name may end in / (a folder) or * (a prefix).
DOORS = {
    "sklearn": ("transformers/", "sanitize/_attack_models.py"),
    "threadpoolctl": ("sanitize/_attack_models.py",),  # comes with scikit-learn
    "narwhals": ("sanitize/_frame.py",),
    "pyarrow": (
        "sanitize/_columns.py",
        "sanitize/alphabet.py",
        "sanitize/binning.py",
        "sanitize/_design.py",
        "sanitize/_release.py",
        "sanitize/_frame.py",
        "sanitize/_frame_columns.py",
        "sanitize/parquet.py",
        "sanitize/_parquet*",
        "sanitize/verify.py",
        "sanitize/_verify*",
        "sanitize/_csv*",
        "sanitize/_source.py",
        "sanitize/_hive.py",
        "sanitize/_ledger_file.py",
        "sanitize/_saved_json.py",
    ),
    "pandas": (
        "sanitize/_frame.py",
        "sanitize/_frame_columns.py",
        "sanitize/frame.py",
        "sanitize/pandas.py",
        "sanitize/report.py",
        "sanitize/_render/saved.py",
        "sanitize/curve.py",
        "datasets/",
    ),
    "polars": ("sanitize/_frame.py", "sanitize/_frame_columns.py", "sanitize/polars.py"),
    "jinja2": ("sanitize/_render/",),
    "matplotlib": ("sanitize/_render/",),
    "cryptography": ("sanitize/_random.py",),
    "numba": (
        "sanitize/mechanisms/_mixture_loops.py",
        "sanitize/mechanisms/_vertex_loops.py",
    ),
    "scipy": (
        "sanitize/_stage.py",
        "sanitize/channel.py",
        "sanitize/_rows.py",
        "sanitize/measures.py",
        "sanitize/_order.py",
        "sanitize/_verify*",
        "sanitize/confidence.py",
        "sanitize/_clopper_pearson.py",
        "sanitize/_intervals.py",
        # theory
        "sanitize/_attack*",
        "sanitize/_anonymity*",
        "sanitize/accounting.py",
        "sanitize/_accounting*",
        "sanitize/_balance*",
        "sanitize/_blahut.py",
        "sanitize/bounds.py",
        "sanitize/_bounds*",
        "sanitize/capacity.py",
        "sanitize/conversions.py",
        "sanitize/_pairwise.py",
        "sanitize/tradeoff.py",
        "sanitize/_tradeoff*",
        "sanitize/mechanisms/",
    ),
    "tqdm": ("sanitize/cli/",),
    "dask": ("sanitize/dask.py",),
    "pyspark": ("sanitize/spark.py",),
}
EVERYWHERE = {"numpy", "sanitize"}
# Rooms that know a lower one by name, for type checkers only.
TYPES_ONLY = {"sanitize/joint.py": {"pyarrow", "sanitize.channel"}}


def imports(path: str) -> list[tuple[str, bool]]:
    """Modules that a file imports, and whether for type checkers only."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, *, typing: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "sanitize":
                found.extend((f"sanitize.{alias.name}", typing) for alias in node.names)
            else:
                found.append((str(node.module), typing))
        elif isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for child in node.body:
                visit(child, typing=True)
            for child in node.orelse:
                visit(child, typing=typing)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, typing=typing)

    visit(ast.parse((ROOT / path).read_text(encoding="utf-8")), typing=False)
    return found


def rank(room: str, inside: tuple[str, ...] = ()) -> int:
    """Place of a room in the order."""
    if room in RANKS:
        return RANKS[room]
    path = f"sanitize/{room}.py"
    assert room.startswith("_"), f"{path}: give this room a place in ORDER"
    assert room not in inside, f"{path} imports itself through {' -> '.join(inside)}"
    return max((rank(other, (*inside, room)) for other in rooms_imported(path) if other != room), default=0)


def rooms_imported(path: str) -> list[str]:
    """Rooms that a file imports at run time."""
    modules = [module.split(".") for module, typing in imports(path) if not typing]
    return [parts[1] for parts in modules if parts[0] == "sanitize" and len(parts) > 1 and parts[1] != "__version__"]


def room_of(path: str) -> str:
    top, *rest = Path(path).with_suffix("").parts
    return rest[0] if top == "sanitize" else top


def matches(path: str, door: str) -> bool:
    if door.endswith(("/", "*")):
        return path.startswith(door.rstrip("*"))
    return path == door


def test_there_are_sources_to_check():
    assert len(SOURCES) > 20
    assert {"sanitize/channel.py", "sanitize/mechanisms/_watchdog.py", "datasets/__init__.py"} <= set(SOURCES)


@pytest.mark.parametrize("path", SOURCES)
def test_each_dependency_comes_in_by_its_door(path):
    for module, typing in imports(path):
        library = module.partition(".")[0]
        if library in EVERYWHERE or library in sys.stdlib_module_names or typing:
            continue
        assert library in DOORS, f"{path} imports {library}, which has no door"
        assert any(matches(path, door) for door in DOORS[library]), f"{path} imports {library}"


@pytest.mark.parametrize("path", SOURCES)
def test_a_room_imports_only_rooms_above_it(path):
    if path == "sanitize/__init__.py":
        return  # the hall: it re-exports every room, lazily
    room = room_of(path)
    for other in rooms_imported(path):
        assert other == room or rank(other) <= rank(room), f"{path} imports sanitize.{other}, which stands below it"


@pytest.mark.parametrize("path", [path for path in TYPES_ONLY if path in SOURCES])
def test_some_imports_are_for_type_checkers_only(path):
    for module, typing in imports(path):
        banned = {module, module.partition(".")[0]} & TYPES_ONLY[path]
        assert typing or not banned, f"{path} imports {module} at run time"


@pytest.mark.parametrize("path", SOURCES)
def test_files_are_short_and_named_for_what_they_hold(path):
    lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
    assert lines <= 300, f"{path} has {lines} lines"
    names = set(Path(path).with_suffix("").parts)
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
        "narwhals",
        "jinja2",
        "cryptography",
        "numba",
    ]
    assert run(f"import sys, sanitize; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.mark.parametrize(
    "first",
    [
        "import sanitize.lift",
        "import sanitize.measures",
        "import sanitize.mechanisms",
        "from sanitize.channel import Channel",
        "from sanitize.lift import max_lift",
        "import sanitize as sz; sz.watchdog; sz.max_lift",
        "import importlib; importlib.import_module('sanitize.lift')",
    ],
)
def test_lift_is_the_function_whatever_was_imported_first(first):
    assert run(f"{first}\nimport sanitize as sz\nprint(type(sz.lift).__name__)") == "function"


def test_every_public_name_resolves():
    code = """
import sanitize as sz
print([name for name in sz.__all__ if not hasattr(sz, name)], sorted(sz.__all__) == dir(sz))
"""
    assert run(code) == "[] True"


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = sanitize.nonsense
