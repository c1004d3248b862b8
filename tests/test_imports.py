"""Imports point one way, no two modules need each other, and one folder knows LightGBM."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rankforce

SOURCE = Path(rankforce.__file__).parent
# The lowest first: a module imports from its own layer and from those before it. "" is the package
# itself, `import rankforce as rf`: its names stand for those of all layers before it.
LAYERS = (
    "common",
    "kernels",
    "data",
    "formats",
    "measures",
    "forces",
    "show.tables",
    "show.pages",
    "evaluation",
    "models",
    "engines",
    "training",
    "diagnostics",
    "experiments",
    "show.plots",
    "show.report",
    "serving",
    "",
    "studies",
    "cli",
    "__main__",
)
# Imports inside functions that point up, each with its reason.
READS = "a method of the data that reads files"
DOORS = {
    ("data.ranking_data", "formats.columnar"): READS,
    ("data.ranking_data", "formats.read"): READS,
    ("experiments.trade_off", "show.plots"): "a result that draws itself",
    ("experiments.tuning", "show.plots"): "a result that draws itself",
}
ENGINE = "engines.lightgbm"
# What is LightGBM's by its nature: `booster_`, and the contributions that its library computes.
KNOW_THE_ENGINE = {"training.learnt", "training.prediction"}


class Import(NamedTuple):
    """One import; names are without `rankforce.`, and "" is the package itself."""

    module: str
    target: str
    line: int
    is_lazy: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target or 'rankforce'}"


def names() -> dict[str, Path]:
    """Every module by its name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = names()


def imports_of(module: str) -> Iterator[Import]:
    """The imports of a module that happen at run time."""
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(MODULES[module].read_text()), False)]
    while waiting:
        node, is_lazy = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += [(one, is_lazy) for one in node.orelse]
            continue
        for target in targets_of(node):
            yield Import(module, target, node.lineno, is_lazy)
        is_lazy = is_lazy or isinstance(node, (ast.FunctionDef, ast.Lambda))
        waiting += [(one, is_lazy) for one in ast.iter_child_nodes(node)]


def targets_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        found = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, f"an import from a place relative to its own: {ast.unparse(node)}"
        found = [f"{node.module}.{alias.name}" for alias in node.names]
        found = [one if is_module(one) else str(node.module) for one in found]
    else:
        return []
    return [own(one) for one in dict.fromkeys(found)]


def is_module(name: str) -> bool:
    return own(name) in MODULES


def own(name: str) -> str:
    """A module's name without the package's; others keep theirs, marked."""
    first, _, rest = name.partition(".")
    return rest if first == "rankforce" else f"!{name}"


ALL = [one for module in MODULES for one in imports_of(module)]
OURS = [one for one in ALL if not one.target.startswith("!")]


def layer(module: str) -> int:
    """The number of a module's layer."""
    while module not in LAYERS:
        module = module.rpartition(".")[0]
    return LAYERS.index(module)


def points_up(one: Import) -> bool:
    return layer(one.target) > layer(one.module)


def test_every_folder_has_a_layer():
    folders = {module for module, path in MODULES.items() if path.stem == "__init__"}
    assert {one for one in folders if layer(one) == layer("")} == {"", "show"}


def test_modules_import_from_their_own_layer_and_those_below():
    assert [str(one) for one in OURS if points_up(one) and not one.is_lazy] == []


def test_functions_import_from_above_only_where_they_are_doors():
    lazy = {(one.module, one.target) for one in OURS if points_up(one) and one.is_lazy}
    assert lazy == set(DOORS)


def test_one_folder_knows_lightgbm():
    foreign = {
        one.module
        for one in ALL
        if one.target.split(".")[0] == "!lightgbm" or one.target.startswith(ENGINE)
        if not one.module.startswith(ENGINE)
    }
    assert foreign == KNOW_THE_ENGINE


def test_one_folder_knows_dask():
    known = {one.module for one in ALL if one.target.split(".")[0] in ("!dask", "!distributed")}
    assert known
    assert all(module.startswith("training.cluster.") for module in known)


def test_one_folder_knows_xgboost():
    """That one; the form of its models needs nothing of it."""
    folder = "engines.xgboost"
    known = [one for one in ALL if one.target.split(".")[0] == "!xgboost"]
    known += [one for one in ALL if one.target.startswith(folder)]
    assert {one.module for one in known if not one.module.startswith(folder)} == set()


def test_one_folder_knows_what_serves():
    libraries = ("!starlette", "!uvicorn", "!msgspec", "!prometheus_client")
    known = {one.module for one in ALL if one.target.split(".")[0] in libraries}
    assert known
    assert all(module.startswith("serving.") for module in known)


def test_no_two_modules_need_each_other():
    needs = {module: set() for module in MODULES}
    for one in OURS:
        if not one.is_lazy and one.target != one.module:
            needs[one.module].add(one.target)
    # What needs nothing, or is needed by nothing, is in no circle.
    while loose := {
        one for one in needs if not needs[one] or one not in set().union(*needs.values())
    }:
        needs = {one: wanted - loose for one, wanted in needs.items() if one not in loose}
    assert not needs, f"these import each other: {', '.join(sorted(needs))}"
