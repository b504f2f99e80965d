"""What an apply says in the end of changes that policies refused."""

from pathlib import Path

import pytest

from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

POLICY = """
policy "few_partitions" {
  on    = ["create"]
  kind  = "kafka_topic"
  level = "LEVEL"
  deny {
    condition = requested.partitions > 5
    message   = "Too many."
    fix       = "Use 5 partitions."
  }
}
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("level", "hint"),
    [
        ("hard", "hint: Use 5 partitions."),
        (
            "soft",
            "hint: Use 5 partitions, or say why it must be: -override 'few_partitions=REASON'",
        ),
    ],
)
def test_where_policies_refused_all_the_rest_the_same_command_is_not_offered(
    desk: MemoryCommand, level: str, hint: str
) -> None:
    desk.write(MAIN_TF + POLICY.replace("LEVEL", level))
    told = desk.run("apply", "-auto-approve", code=1)
    end = told.partition("What was not done:")[2]
    assert "Too many. (policy few_partitions)" in end
    assert hint in end
    assert "Apply incomplete: 2 ok, 1 failed" in end
    assert "To go on" not in end
    if level == "soft":
        desk.run("apply", "-auto-approve", "-override=few_partitions=a big one")
        assert "payments" in desk.cluster.topics()
