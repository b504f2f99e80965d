"""`kplan convert` in this process."""

from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

SAMPLE = "topics:\n  orders: { partitions: 3, replication: 1, note: x }\n"


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(SAMPLE, "state.yaml")
    return found


def test_blocks_go_to_stdout_and_counts_to_stderr(desk: MemoryCommand) -> None:
    assert desk.run("convert", "state.yaml").startswith('resource "kafka_topic" "orders" {\n')
    told = desk.run_failing("convert", "-from=kafka-gitops", "state.yaml", code=0)
    assert "Warning: state.yaml:2:44: topics.orders.note: kplan has nothing like it." in told
    assert told.endswith("Converted 1 topic; 1 left out.")


def test_a_new_file_is_written_and_none_is_written_over(desk: MemoryCommand) -> None:
    (desk.folder / "main.tf").unlink()
    assert desk.run("convert", "-out=kafka.tf", "state.yaml") == ""
    assert "valid" in desk.run("validate")
    assert "kafka.tf exists" in desk.run_failing("convert", "-out=kafka.tf", "state.yaml")
    assert "cannot be written" in desk.run_failing("convert", "-out=no/kafka.tf", "state.yaml")


def test_mistakes_are_told_and_nothing_is_written(desk: MemoryCommand) -> None:
    desk.write("topics: [\n", "wrong.yaml")
    told = desk.run_failing("convert", "-out=kafka.tf", "state.yaml", "wrong.yaml", "none.yaml")
    assert "Invalid YAML" in told
    assert "none.yaml cannot be read" in told
    assert not (desk.folder / "kafka.tf").exists()
