"""The programs of `examples/library` do what they say, on a cluster in memory."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import kplan
from kplan.testing import GroupDescription, MemoryCluster, NewTopic

FOLDER = Path(__file__).parents[3] / "examples" / "library"


def program(name: str) -> ModuleType:
    spec = spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_tests_pass(tmp_path: Path) -> None:
    module = program("test_topics")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    module.test_topics_have_the_partitions_that_are_asked_for(tmp_path / "a")
    module.test_a_topic_that_exists_is_adopted_and_a_refusal_is_an_outcome(tmp_path / "b")


def test_the_portal_applies_the_plan_of_the_checksum_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, load = MemoryCluster(1), kplan.load
    monkeypatch.setattr(
        kplan,
        "load",
        lambda folder, **_: load(folder, state=tmp_path / "s.json", connect=lambda _: cluster),
    )
    portal = program("portal")
    topics = str(FOLDER / "topics")
    assert portal.main(topics, None) == 0
    checksum = capsys.readouterr().out.strip().rpartition("Checksum: ")[2]
    assert portal.main(topics, "0000-0000-0000-0000") == 1
    assert not cluster.topics()
    assert portal.main(topics, checksum) == 0
    assert set(cluster.topics()) == {"library.orders", "library.payments"}
    assert "kafka_topic.events" in capsys.readouterr().out


def test_lags_are_printed_with_brokers_that_do_not_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = MemoryCluster(2)
    cluster.seed([NewTopic("orders", 1, 2)])
    cluster.add_described_group(
        GroupDescription(
            "g", "classic", "consumer", "Empty", 1,
            committed_offsets={("orders", 0): 5}, end_offsets={("orders", 0): 12},
        )
    )  # fmt: skip
    cluster.stop_brokers(2)
    assert program("lag").main(cluster) == 0
    out = capsys.readouterr().out
    assert "g: 7 records behind, Empty" in out
    assert "broker 2: BROKER_NOT_AVAILABLE" in out
    assert "orders: 1 partitions lack replicas" in out
    assert sys.stdout is not None
