"""Changes good files into those that damage or a stranger could leave, by a seed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

NUMBERS = (
    "0", "-1", "1", "-0", "0.5", "1e999", "-1e999", "NaN", "nan", "inf", "1e-320", "2147483648", "4294967295",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "1" * 400, "0x10", "1_000", "٣",
)  # fmt: skip
TOKENS = (
    *NUMBERS, "null", "true", "{}", "[]", '""', "\\u0000", "\x1b[31m", "\x00", "\ufeff", "'", '"',
    "=cmd|' /C'!A1", "../../../etc/passwd", "/dev/zero", "%s%n", "\r\n", "\\ud800", "[" * 5000, '{"a":' * 500,
    "é" * 3000, ",", ":", "#", "\t", "[[", "]]", "=", "1-0", "n[0-999999999]",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 31, 1 << 63, 1 << 64, 1e308, -1e308, 0.1, "", "\x1b]0;x\x07", "NaN", [], {}, [[]],
    [None], {"": None}, "x" * 5000, list(range(5000)), [0] * 64, [1 << 40],
)  # fmt: skip


def mutated_bytes(data: bytes, draw: random.Random) -> bytes:  # noqa: PLR0911
    at = draw.randrange(len(data) + 1)
    end = min(len(data), at + draw.choice((1, 2, 4, 8, 64, 1000)))
    match draw.randrange(8):
        case 0:
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:end] + data[at:end] * draw.choice((1, 2, 100)) + data[end:]
        case 4 | 5:
            return data[:at] + draw.choice(TOKENS).encode("utf-8", "surrogatepass") + data[at:]
        case 6:
            spans = [found.span() for found in re.finditer(rb"-?\d+(\.\d+)?", data)] or [(at, end)]
            first, last = draw.choice(spans)
            return data[:first] + draw.choice(NUMBERS).encode() + data[last:]
        case _:
            lines = data.split(b"\n")
            lines.insert(draw.randrange(len(lines)), lines.pop(draw.randrange(len(lines))))
            return b"\n".join(lines)


def mutated_json(value: Any, draw: random.Random) -> Any:
    """Replaces, removes or adds one value somewhere."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.2:
        return draw.choice(VALUES)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = draw.choice(keys)
    changed = dict(value) if isinstance(value, dict) else list(value)
    match draw.randrange(8):
        case 0:
            del changed[key]
        case 1:
            if isinstance(changed, dict):
                changed[draw.choice((*map(str, keys), "unknown"))] = draw.choice(VALUES)
            else:
                changed.insert(key, changed[key])
        case _:
            changed[key] = mutated_json(value[key], draw)
    return changed


def mutate_file(file: Path, draw: random.Random) -> None:
    data = file.read_bytes()
    if draw.random() < 0.6:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(data)
            for _ in range(draw.choice((1, 1, 2))):
                value = mutated_json(value, draw)
            file.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
            return
    for _ in range(draw.choice((1, 1, 2, 4))):
        data = mutated_bytes(data, draw)
    file.write_bytes(data)


def mutate(target: Path, draw: random.Random) -> None:
    """Changes a good file, or some files of a good folder."""
    if target.is_file():
        return mutate_file(target, draw)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    metadata = [path for path in files if path.suffix in {".json", ".txt", ".toml"}]
    for _ in range(draw.choice((1, 1, 2))):
        file = draw.choice(metadata if metadata and draw.random() < 0.6 else files)
        if not file.is_file():
            continue
        match draw.randrange(12):
            case 0:
                file.unlink()
            case 1:
                file.unlink()
                draw.choice((os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"),
                             lambda path: path.symlink_to(path.name)))(file)  # fmt: skip
            case 2:
                others = [path for path in files if path != file and path.is_file()]
                file.write_bytes(draw.choice(others).read_bytes() if others else b"")
            case 3:
                shutil.rmtree(file.parent) if file.parent != target else file.unlink()
            case _:
                mutate_file(file, draw)
    return None
