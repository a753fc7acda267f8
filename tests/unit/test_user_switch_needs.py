"""The needs of the user-space switch are checked before anything is built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crosscut.lab import lifecycle
from crosscut.lab.switch import program
from crosscut.lab.switch.program import UserSwitchError

FILE = (
    '[generator]\nkind = "crossbar"\nhosts = 2\nrate = "100 Mbit/s"\n[protocol]\nmtu = 1500\nheaders = 40\n'
)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(lifecycle, "unavailable", lambda: None)
    monkeypatch.setattr(program, "find_switch", lambda: Path("/bin/true"))
    monkeypatch.setenv("CROSSCUT_LABS", str(tmp_path / "labs"))
    file = tmp_path / "two.toml"
    file.write_text(FILE)
    return str(file)


def refusal(network: str) -> str:
    with pytest.raises(UserSwitchError) as caught:
        lifecycle.up(network, lifecycle.Choices(name="refused", switch="user"))
    return str(caught.value)


def test_a_machine_without_tun_is_reported(network, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "TUN", tmp_path / "tun")
    assert refusal(network).startswith("--switch user: there is no ")
    assert not (tmp_path / "labs").exists()


def test_a_device_without_permissions_for_all_is_reported_with_its_mode(network, tmp_path, monkeypatch):
    tun = tmp_path / "tun"
    tun.touch(mode=0o600)
    monkeypatch.setattr(program, "TUN", tun)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    said = refusal(network)
    assert "(mode 0600)" in said
    assert "--switch kernel works without" in said
    assert not (tmp_path / "labs").exists()
