from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.fleet.reader import SnapshotSource, read_rows
from kplan.model.errors import FleetError
from kplan.state.file_store import FileStore
from kplan.workflow.fleet.audit import render_removals
from kplan.workflow.fleet.hcl_files import write_hcl_files
from kplan.workflow.fleet.removals import ClusterState
from tests.project_harness import ProjectHarness

DECLARED = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "old" {
  name               = "old"
  partitions         = 1
  replication_factor = 1
}
"""


def test_the_hcl_for_review_is_what_its_head_says(tmp_path: Path) -> None:
    """Design law 3: what is not owned has to be owned before it can go."""
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.cluster.seed([NewTopic("foreign", 2, 1, config={"retention.ms": "5"})])
    site.write(DECLARED)
    site.apply()
    rows = read_rows(SnapshotSource("eu", {}, lambda: site.cluster))
    unused = [row for row in rows if row.kind == "kafka_topic"]
    state = FileStore(site.project.state_path).read()
    assert state is not None
    texts = render_removals(ClusterState(state, site.cluster.describe().cluster_id), unused)
    assert set(texts) == {"unused", "unmanaged"}

    site.write(texts["unmanaged"], "more.tf")
    assert not site.plan().plan.has_changes
    site.apply()
    (tmp_path / "more.tf").unlink()
    site.write(DECLARED[: DECLARED.index("resource")])
    site.write(texts["unused"], "unused.tf")
    gone = site.plan().plan.changes
    assert {(each.action.value, each.identity) for each in gone} == {
        ("delete", "old"),
        ("delete", "foreign"),
    }


def test_files_of_an_earlier_answer_go_and_those_of_others_stay(tmp_path: Path) -> None:
    headers = {"remove": "# Ours.\n# More.\n", "narrow": "# Narrow.\n"}
    before = {
        "eu.remove.tf": "# Ours.\nold",
        "eu.narrow.tf": "# Narrow.\nold",
        "us.remove.tf": "# Mine.\n",
        "us.narrow.tf": "# Narrow.\r\nold",
        "lab.narrow.tf": "# Narrow.\nof a cluster that was not asked for",
        "dev.narrow.tf": '# Narrow.\nresource "kafka_acl" "a" {\n}\n',
    }
    for name, text in before.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    notes: list[str] = []
    file = tmp_path / "dev.narrow.tf"
    made = iter([("eu", {"remove": "# Ours.\nnew"})])
    write_hcl_files(tmp_path, ("eu", "us", "dev"), made, headers, notes.append)
    after = {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()}
    kept = {name: before[name] for name in ("us.remove.tf", "lab.narrow.tf", "dev.narrow.tf")}
    assert after == {"eu.remove.tf": "# Ours.\nnew", **kept}
    assert notes == [
        f"Written: {tmp_path / 'eu.remove.tf'}",
        f"Deleted: {tmp_path / 'eu.narrow.tf'}, which an earlier answer wrote",
        f"Deleted: {tmp_path / 'us.narrow.tf'}, which an earlier answer wrote",
        f"Left: {file}, of an earlier answer: objects may be declared there alone",
    ]


def test_a_file_that_may_declare_objects_is_not_replaced_by_another_answer(tmp_path: Path) -> None:
    """Design law 6: without its block the next plan would delete an ACL that is in use."""
    header = "# Narrow.\n"
    first, second, third = (
        f'{header}resource "kafka_acl" "{name}" {{\n}}\n' for name in ("a", "b", "c")
    )

    def answer(text: str) -> list[str]:
        notes: list[str] = []
        made = [("eu", {"narrow": text})]
        write_hcl_files(tmp_path, ["eu"], made, {"narrow": header}, notes.append)
        return [each.replace(f"{tmp_path}/", "") for each in notes]

    left = "of an earlier answer: objects may be declared there alone"
    assert answer(first) == ["Written: eu.narrow.tf"]
    assert answer(first) == ["Unchanged: eu.narrow.tf"]
    for said in ("Written", "Unchanged"):
        assert answer(second) == [f"{said}: eu.narrow.2.tf", f"Left: eu.narrow.tf, {left}"]
    second = second.replace("resource", "# Used 2 times.\nresource")
    assert answer(second) == ["Written: eu.narrow.2.tf", f"Left: eu.narrow.tf, {left}"]
    (tmp_path / "eu.narrow.tf").write_text("# Of a person.\n", encoding="utf-8")
    assert answer(third) == ["Written: eu.narrow.3.tf", f"Left: eu.narrow.2.tf, {left}"]
    assert {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()} == {
        "eu.narrow.tf": "# Of a person.\n",
        "eu.narrow.2.tf": second,
        "eu.narrow.3.tf": third,
    }
    own = third.replace("# Narrow.", "# Of a person.")
    (tmp_path / "eu.narrow.3.tf").write_text(own, encoding="utf-8")
    assert answer(third) == ["Unchanged: eu.narrow.3.tf", f"Left: eu.narrow.2.tf, {left}"]
    assert (tmp_path / "eu.narrow.3.tf").read_text(encoding="utf-8") == own


def test_an_answer_of_comments_alone_takes_no_file_of_others(tmp_path: Path) -> None:
    header = "# Ours.\n"
    (tmp_path / "eu.remove.tf").write_text("# Of a person.\n", encoding="utf-8")
    notes: list[str] = []
    for number in (1, 2):
        made = [("eu", {"remove": f"{header}# {number}\n"})]
        write_hcl_files(tmp_path, ["eu"], made, {"remove": header}, notes.append)
    assert notes == [f"Written: {tmp_path / 'eu.remove.2.tf'}"] * 2
    assert {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()} == {
        "eu.remove.tf": "# Of a person.\n",
        "eu.remove.2.tf": "# Ours.\n# 2\n",
    }


def test_an_answer_that_fails_leaves_the_earlier_one_whole(tmp_path: Path) -> None:
    headers = {"remove": "# Ours.\n"}
    (tmp_path / "eu.remove.tf").write_text("# Ours.\nold", encoding="utf-8")

    def made() -> Iterator[tuple[str, Mapping[str, str]]]:
        yield "eu", {"remove": "# Ours.\nnew"}
        raise FleetError("The state of us cannot be read.")

    notes: list[str] = []
    with pytest.raises(FleetError):
        write_hcl_files(tmp_path, ("eu", "us"), made(), headers, notes.append)
    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_text(encoding="utf-8")) == ("eu.remove.tf", "# Ours.\nold")
    assert notes == []
