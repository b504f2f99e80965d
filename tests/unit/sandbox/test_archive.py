"""The archive of Kafka's classes."""

from pathlib import Path

import pytest

from kplan.sandbox.lifecycle import add_archive
from kplan.sandbox.sandbox import ProgressStep, Stage, ignore_progress
from tests.unit.sandbox.fake_kafka import FakeKafka


def test_a_class_archive_is_recorded_once_and_then_used(tmp_path: Path) -> None:
    """JEP 514: the archive is written when the recording Java ends."""
    fake = FakeKafka(tmp_path / "java", "25.0.2")
    steps: list[ProgressStep] = []
    for _ in range(2):
        made = add_archive(fake.kit, tmp_path, "4.3.0", steps.append)
        assert made.archive == tmp_path / "java-25.0.2.aot"
    assert [(step.stage, step.done) for step in steps] == [(Stage.WARM, 0), (Stage.WARM, 1)]
    assert len(fake.formats) == 1


def test_a_recording_that_fails_is_not_tried_again_and_does_no_harm(tmp_path: Path) -> None:
    fake = FakeKafka(tmp_path / "java", "25.0.2")
    fake.tell("crash")
    for _ in range(2):
        assert add_archive(fake.kit, tmp_path, "4.3.0", ignore_progress) == fake.kit
    assert len(fake.formats) == 1


def test_a_ci_job_records_nothing_unless_its_cache_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeKafka(tmp_path / "java", "25.0.2")
    monkeypatch.setenv("CI", "true")
    monkeypatch.delenv("KPLAN_CACHE", raising=False)
    assert add_archive(fake.kit, tmp_path, "4.3.0", ignore_progress) == fake.kit
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path))
    made = add_archive(fake.kit, tmp_path, "4.3.0", ignore_progress)
    monkeypatch.delenv("KPLAN_CACHE")
    assert made.archive is not None
    assert add_archive(fake.kit, tmp_path, "4.3.0", ignore_progress) == made


def test_an_older_java_records_nothing(tmp_path: Path) -> None:
    fake = FakeKafka(tmp_path / "java", "21.0.1")
    assert add_archive(fake.kit, tmp_path, "4.3.0", ignore_progress) == fake.kit
