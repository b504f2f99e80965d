"""The demo on a cluster in memory: it counts as a success only if every step does."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from kplan.cli import wiring
from kplan.cli.project import demo
from kplan.cli.project.demo import example_folder
from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration, ItemResult
from kplan.sandbox import lifecycle

Capture = pytest.CaptureFixture[str]


class Deaf(MemoryCluster):
    """A cluster on which nobody else can change a config."""

    def alter_topic_configs(
        self, specs: object, *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        del specs, validate_only
        return {}


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Let the demo start this instead of a sandbox, and look for its cluster in memory."""
    sandbox = SimpleNamespace(bootstrap_servers="127.0.0.1:1", folder=tmp_path / "sandbox")
    found = SimpleNamespace(cluster=MemoryCluster(), sandbox=sandbox, ended=False)

    @contextmanager
    def running(progress: object) -> Iterator[object]:
        assert callable(progress)
        yield sandbox
        found.ended = True

    monkeypatch.setattr(lifecycle, "temporary_sandbox", running)
    monkeypatch.setattr(lifecycle, "start_sandbox", lambda *_: sandbox)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "VISIBLE_S", 0.2)
    monkeypatch.setattr(wiring, "_connect", lambda *_: found.cluster)
    return found


def test_every_step_is_a_command_line_that_anybody_can_type(
    stage: SimpleNamespace, capsys: Capture, tmp_path: Path
) -> None:
    assert run(["demo"], {"KPLAN_STATE": "/nowhere/at/all"}) == 0
    out, err = capsys.readouterr()
    typed = [line.removeprefix("$ kplan ") for line in err.splitlines() if line.startswith("$ ")]
    assert [line.split()[0] for line in typed] == ["plan", "apply", "plan", "drift"]
    assert "Apply complete! Resources: 7 added" in out
    assert '"604800000" -> "3600000"' in out
    assert "Every step had the expected result." in err
    assert stage.ended
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_comes_out_otherwise_is_a_failure(
    stage: SimpleNamespace, capsys: Capture
) -> None:
    stage.cluster = Deaf()
    assert run(["demo"], {}) == 1
    err = capsys.readouterr().err
    assert "retention.ms is unchanged" in err
    assert "Expected exit code 0, got 1." in err
    assert "Every step" not in err
    assert stage.ended


def test_what_is_kept_is_told_with_the_way_on(
    stage: SimpleNamespace, capsys: Capture, tmp_path: Path
) -> None:
    assert run(["demo", "-keep"], {}) == 0
    err = capsys.readouterr().err
    (kept,) = tmp_path.glob("kplan-demo-*")
    assert (kept / "quickstart" / "state" / "kplan.json").exists()
    assert f"cd {kept}/quickstart" in err
    assert f"kplan sandbox stop -folder={stage.sandbox.folder}" in err
    assert "export KPLAN_BOOTSTRAP_SERVERS=127.0.0.1:1" in err


def test_the_change_by_others_is_one_the_quickstart_declares() -> None:
    alteration = ConfigAlteration(demo.TOPIC, {demo.KEY: demo.VALUE})
    text = (example_folder("quickstart") / "main.tf").read_text(encoding="utf-8")
    assert f'"{demo.KEY}"' in text
    assert alteration.name.removeprefix("dev.shop.") in text
