"""Compares imports with the picture in docs/ARCHITECTURE.md: arrows run downwards, without cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import crosscut
from crosscut.places import PLACES

PACKAGE = Path(crosscut.__file__).parent
# From the bottom up. A folder imports only folders of lower layers.
LAYERS = (
    {"base"},
    {"network", "run", "profile", "cabling"},
    {"lab", "analysis", "imports"},
    {"places", "reports"},
    {"session", "workloads", "prediction"},
    {"campaigns", "clone", "history", "reproduce", "pricing", "ordering"},
    {"health"},
    {"cli"},
    {"__main__"},
)
LAYER = {name: number for number, layer in enumerate(LAYERS) for name in layer}


def _modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        words = ("crosscut", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path
    return found


def _imports(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yields every module that the file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                if whole in modules or node.module in modules:
                    yield whole if whole in modules else node.module


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    modules = _modules()
    return {module: set(_imports(path, modules)) - {module} for module, path in modules.items()}


def _circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_folder_has_a_layer_and_few_modules_are_outside_folders():
    children = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert children - {"__init__"} == set(LAYER)
    assert len([name for name in children if (PACKAGE / f"{name}.py").exists()]) <= 4


def test_folders_import_only_folders_of_lower_layers(graph):
    upwards = [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others
        if module.count(".") and other.count(".")
        and (here := module.split(".")[1]) != (there := other.split(".")[1])
        and LAYER[here] <= LAYER[there]
    ]  # fmt: skip
    assert not upwards


def test_modules_have_no_import_cycles(graph):
    assert not _circle(graph)


def test_sibling_folders_have_no_import_cycles(graph):
    beside: dict[str, dict[str, set[str]]] = {}
    for module, others in graph.items():
        for other in others:
            here, there = module.split("."), other.split(".")
            shared = next(
                (n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b),
                min(len(here), len(there)),
            )
            if shared < min(len(here), len(there)):
                siblings = beside.setdefault(".".join(here[:shared]), {})
                siblings.setdefault(here[shared], set()).add(there[shared])
    assert not [circle for siblings in beside.values() if (circle := _circle(siblings))]


def test_nothing_outside_places_compares_a_place_s_name():
    """Places state their differences themselves: `Place`, `Realm`."""
    names = set(PLACES) - {"mpi", "hosts"}  # also a backend, and a key of many documents
    compared = []
    for path in PACKAGE.rglob("*.py"):
        if PACKAGE / "places" in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                parts = [*node.args] if node.func.attr == "startswith" else []
            else:
                continue
            said = {one.value for part in parts for one in ast.walk(part) if isinstance(one, ast.Constant)}
            if {str(one).rstrip(":") for one in said} & names:
                compared.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not compared


def test_every_class_has_a_unique_name():
    """One name, one idea: a search finds only one class."""
    where: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert not {name: paths for name, paths in where.items() if len(paths) > 1}


def test_one_function_starts_processes_so_that_an_interrupt_leaves_none():
    starting = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "Popen(" in path.read_text(encoding="utf-8")
    ]
    assert starting == ["base/process_group.py"]
