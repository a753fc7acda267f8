"""A run that was tampered with is read, or refused with the mistake; a person never sees a traceback."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from stored_run import make_run

from crosscut.base.errors import CrosscutError
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.run import Run

EXAMPLES = settings(
    max_examples=40,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # the fixture is never written to; shrinking would take minutes

ODD_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=8),
    st.sampled_from([math.nan, math.inf, -1, 0.5, [], {}, [[]], {"name": 7}, "\x1b[31m", "../../etc", 2**63]),
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("whole") / "run.zarr")


@contextlib.contextmanager
def copied(run: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(run, Path(folder) / "run.zarr"))


def read_everything(run: Path) -> None:
    """Reads everything; errors must be CrosscutErrors, or exit statuses of commands."""
    with contextlib.suppress(CrosscutError):
        fsck.check(run)
    with contextlib.suppress(CrosscutError):
        opened = Run.open(run)
        opened.dataset.load()
        for size in range(len(opened.sizes_bytes)):
            opened.message_bytes(size)
    for words in (["show", str(run)], ["fsck", str(run)], ["show", str(run), "--json"]):
        assert main(words) in (0, 1, 2), words


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yields the places in a document where a value may be replaced."""
    yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, member in members:
        yield from places(member, (*path, name))


def put(document: Any, path: tuple[str | int, ...], change: Callable[[Any, str | int], None]) -> Any:
    if not path:
        return None
    for name in path[:-1]:
        document = document[name]
    change(document, path[-1])
    return document


@EXAMPLES
@given(data=st.data())
def test_metadata_with_any_member_changed_or_missing_is_read_or_refused(
    whole: Path, data: st.DataObject
) -> None:
    with copied(whole) as run:
        document = json.loads((run / "zarr.json").read_text())
        for _ in range(data.draw(st.integers(1, 2))):
            path = data.draw(st.sampled_from(list(places(document))))
            odd = data.draw(ODD_VALUES)
            if data.draw(st.booleans()):
                put(document, path, lambda at, name: at.pop(name))
            else:
                put(document, path, lambda at, name, value=odd: at.__setitem__(name, value))
        (run / "zarr.json").write_text(json.dumps(document))
        read_everything(run)


@pytest.mark.parametrize("value", [None, "big", 7])
def test_values_in_another_order_of_bytes_are_refused(whole: Path, value: object) -> None:
    with copied(whole) as run:
        document = json.loads((run / "zarr.json").read_text())
        (shards,) = document["consolidated_metadata"]["metadata"]["status"]["codecs"]
        shards["configuration"]["index_codecs"][0]["configuration"]["endian"] = value
        (run / "zarr.json").write_text(json.dumps(document))
        with pytest.raises(CrosscutError, match="its shards have no plain index"):
            Run.open(run)


@EXAMPLES
@example(text=b"")
@example(text=b"[" * 100_000)
@example(text=b'{"a":' * 100_000)
@given(text=st.binary(max_size=200))
def test_other_text_instead_of_metadata_is_refused(whole: Path, text: bytes) -> None:
    with copied(whole) as run:
        (run / "zarr.json").write_bytes(text)
        read_everything(run)


@EXAMPLES
@given(data=st.data())
def test_files_truncated_lengthened_overwritten_or_missing_are_read_or_refused(
    whole: Path, data: st.DataObject
) -> None:
    with copied(whole) as run:
        files = sorted(path for path in run.rglob("*") if path.is_file())
        for _ in range(data.draw(st.integers(1, 3))):
            path = data.draw(st.sampled_from(files))
            if not path.is_file():
                continue
            content = bytearray(path.read_bytes())
            at = data.draw(st.integers(0, len(content)))
            match data.draw(st.sampled_from(["cut", "overwrite", "lengthen", "remove", "folder"])):
                case "cut":
                    path.write_bytes(content[:at])
                case "overwrite":
                    new = data.draw(st.binary(min_size=1, max_size=16))
                    path.write_bytes(content[:at] + new + content[at + len(new) :])
                case "lengthen":
                    path.write_bytes(content + data.draw(st.binary(min_size=1, max_size=16)))
                case "remove":
                    path.unlink()
                case "folder":
                    path.unlink()
                    path.mkdir()
        read_everything(run)
