"""Folders and files that only this user can change. Nothing that another user owns is read or run.

Every folder is opened relative to its parent (`dir_fd`) and checked through its descriptor. Once all of them
belong to this user and are writable by nobody else, nobody else can replace what is below them, so their
paths stay valid.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from pathlib import Path

from crosscut.base.errors import CrosscutError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ABOVE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_OURS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A parent may vanish while a folder is made in it: removing the last lab removes the folder of all labs.
_ATTEMPTS = 8


def check(path: Path, top: Path, *, is_named: bool) -> None:
    """Raises CrosscutError if a folder from `top` down to `path` is unsafe.

    A folder is unsafe if it is not this user's, is writable by others, or is a symbolic link. Missing folders
    pass. `is_named`: the user chose `top` and answers for its parents; otherwise `top` must lie where nobody
    else can rename it.
    """
    os.close(_walk(path, top, is_named=is_named, make=False))


def make(path: Path, top: Path, *, is_named: bool) -> None:
    """Creates the missing folders (mode 0700), checks them like `check`, and removes others' access.

    A `top` that the user chose keeps its mode.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            os.close(_walk(path, top, is_named=is_named, make=True))
        except FileNotFoundError as error:
            if attempt == _ATTEMPTS:
                raise CrosscutError(f"{path}: cannot be created: {error.strerror}") from error
        except OSError as error:
            raise CrosscutError(f"{path}: cannot be created: {error.strerror}; {_ELSEWHERE}") from error
        else:
            return


def read(path: Path) -> str:
    """Reads a regular file of this user. Raises CrosscutError for any other; OSError and ValueError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink():
            raise CrosscutError(f"{path}: is a symbolic link, not a file") from None
        raise
    with os.fdopen(descriptor, encoding="utf-8") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise CrosscutError(f"{path}: is not a regular file")
        if found.st_uid != os.geteuid():
            raise CrosscutError(f"{path}: belongs to {_user(found.st_uid)}, not to {_user(os.geteuid())}")
        return file.read()


def _walk(path: Path, top: Path, *, is_named: bool, make: bool) -> int:
    """Returns a descriptor of the deepest folder on the path that exists."""
    here = os.open("/", _ABOVE)
    above = Path("/")
    made = False
    try:
        for name in path.parts[1:]:
            folder = above / name
            is_ours = folder.is_relative_to(top) or made
            if folder == top and not is_named:
                _refuse_shared(above, os.fstat(here))
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=here)
                    is_ours = made = True
            try:
                below = os.open(name, _OURS if is_ours else _ABOVE, dir_fd=here)
            except OSError as error:
                if is_ours:
                    _refuse_other(folder, _look(name, here))
                if make or (is_ours and not isinstance(error, FileNotFoundError)):
                    raise
                return here
            os.close(here)
            here, above = below, folder
            if is_ours:
                found = os.fstat(here)
                _refuse_other(folder, found)
                if make and found.st_mode & 0o077 and not (is_named and folder == top):
                    os.fchmod(here, 0o700)
    except BaseException:
        os.close(here)
        raise
    return here


_ELSEWHERE = "set CROSSCUT_LABS to a folder of your own"


def _refuse_shared(folder: Path, found: os.stat_result) -> None:
    """Raises CrosscutError if others could rename the entries of this folder."""
    if found.st_uid not in (0, os.geteuid()):
        raise CrosscutError(
            f"{folder}: belongs to {_user(found.st_uid)}, who could replace labs in it; {_ELSEWHERE}"
        )
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise CrosscutError(
            f"{folder}: others can write to it (mode {_mode(found)}, not sticky) and could replace labs in "
            f"it; {_ELSEWHERE}"
        )


def _refuse_other(folder: Path, found: os.stat_result | None) -> None:
    if found is None:
        return
    if stat.S_ISLNK(found.st_mode):
        raise CrosscutError(
            f"{folder}: is a symbolic link, where crosscut needs a folder; remove it, or {_ELSEWHERE}"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise CrosscutError(f"{folder}: is not a folder; remove it, or {_ELSEWHERE}")
    if found.st_uid != os.geteuid():
        raise CrosscutError(
            f"{folder}: belongs to {_user(found.st_uid)}, not to {_user(os.geteuid())}, so its contents are "
            f"not trusted; have it removed, or {_ELSEWHERE}"
        )
    if found.st_mode & _OTHERS_WRITE:
        raise CrosscutError(
            f"{folder}: others can write to it (mode {_mode(found)}), so its contents are not trusted; if "
            f"all of them are yours, run chmod 700 {folder}, otherwise remove it"
        )


def _look(name: str, above: int) -> os.stat_result | None:
    """Status of an entry, without following links; None if there is none."""
    with contextlib.suppress(OSError):
        return os.stat(name, dir_fd=above, follow_symlinks=False)
    return None


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"


def _user(number: int) -> str:
    with contextlib.suppress(KeyError):
        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    return f"user {number}"
