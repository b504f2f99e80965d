"""`acl_order = "add_first"`: access that is kept is never missing for a moment."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds.acl import Acl
from kplan.model.errors import ConfigError
from kplan.workflow.project.validate import validate_project
from tests.project_harness import MAIN_TF, Killed, ProjectHarness

ADD_FIRST = MAIN_TF.replace(
    '{ bootstrap_servers = ["127.0.0.1:1"] }',
    '{\n bootstrap_servers = ["127.0.0.1:1"]\n acl_order = "add_first"\n}',
)
SWAPPED = '"Read"', '"Write"'
LIFECYCLE = (
    'acl_permission_type = "Allow"',
    ('acl_permission_type = "Allow"\n lifecycle {\n create_before_destroy = %s\n }'),
)


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    return ProjectHarness(tmp_path, MemoryCluster())


def held_between(site: ProjectHarness, before: str, after: str) -> set[str]:
    """Apply one configuration after the other; give what was held at the second request."""
    site.write(before)
    site.apply()
    site.write(after)
    seen: list[set[str]] = []
    for call in ("create_acls", "delete_acls"):
        site.cluster.run_before(
            call,
            lambda: seen.append({each.operation for each in site.cluster.connect_as().acls()}),
        )
    done = site.apply()
    assert not site.plan().plan.has_changes
    assert len(done.outcomes) == 1
    return seen[1]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (MAIN_TF, set()),
        (ADD_FIRST, {"READ", "WRITE"}),
        (MAIN_TF.replace(LIFECYCLE[0], LIFECYCLE[1] % "true"), {"READ", "WRITE"}),
        (ADD_FIRST.replace(LIFECYCLE[0], LIFECYCLE[1] % "false"), set()),
        (ADD_FIRST.replace('"Allow"', '"Deny"'), set()),
    ],
)
def test_what_is_held_between_the_two_requests(
    site: ProjectHarness, text: str, held: set[str]
) -> None:
    """K4-45, decision 0003."""
    assert held_between(site, text, text.replace(*SWAPPED)) == held


def test_the_outcome_says_that_access_was_never_missing(site: ProjectHarness) -> None:
    site.write(ADD_FIRST)
    site.apply()
    site.write(ADD_FIRST.replace(*SWAPPED))
    (outcome,) = site.apply().outcomes
    assert outcome.note == "never without access"


def test_of_a_replaced_deny_the_outcome_tells_how_long_nothing_was_withheld(
    site: ProjectHarness,
) -> None:
    """Nobody was without access: it was the other way round."""
    denied = MAIN_TF.replace('"Allow"', '"Deny"')
    site.write(denied)
    site.apply()
    site.write(denied.replace(*SWAPPED))
    (outcome,) = site.apply().outcomes
    assert outcome.note.startswith("without the Deny for at most ")


def test_a_delete_whose_successor_stands_in_another_block_waits_for_it(
    site: ProjectHarness,
) -> None:
    site.write(ADD_FIRST)
    site.apply()
    site.write(ADD_FIRST.replace('"kafka_acl" "read"', '"kafka_acl" "write"').replace(*SWAPPED))
    steps = [batch.step.name for batch in site.plan().plan.batches]
    assert steps == ["create_acls", "delete_acls"]
    site.write(MAIN_TF.replace('"kafka_acl" "read"', '"kafka_acl" "write"').replace(*SWAPPED))
    assert [batch.step.name for batch in site.plan().plan.batches] == steps[::-1]


def test_denies_go_after_the_allows_that_are_deleted_with_them(site: ProjectHarness) -> None:
    """A stop between two requests opens nothing."""
    start = ADD_FIRST.index('resource "kafka_acl"')
    block = ADD_FIRST[start : ADD_FIRST.index("output")]
    deny = block.replace('"Allow"', '"Deny"').replace('"read"', '"deny"')
    site.write(ADD_FIRST + deny)
    site.apply()
    site.write(ADD_FIRST.replace(block, ""))
    deleted = [
        change.before.acl_permission_type
        for batch in site.plan().plan.batches
        for change in batch.changes
        if isinstance(change.before, Acl)
    ]
    assert deleted == ["Allow", "Deny"]


def test_an_apply_killed_between_the_two_is_brought_to_the_goal(site: ProjectHarness) -> None:
    def strike() -> None:
        raise Killed

    site.write(ADD_FIRST)
    site.apply()
    site.write(ADD_FIRST.replace(*SWAPPED))
    site.cluster.run_before("delete_acls", strike)
    with pytest.raises(Killed):
        site.apply()
    site.cluster.clear_faults()
    assert len(site.cluster.acls()) == 2
    site.apply()
    assert {each.operation for each in site.cluster.acls()} == {"WRITE"}
    assert not site.plan().plan.has_changes


def test_an_order_that_there_is_not_is_told_without_a_cluster(site: ProjectHarness) -> None:
    site.write(ADD_FIRST.replace("add_first", "first_add"))
    (problem,) = validate_project(site.project).diagnostics
    assert (problem.code, problem.detail) == (
        "KP302",
        '"acl_order" is "delete_first" or "add_first".',
    )
    assert problem.subject is not None
    assert problem.subject.line == 4
    with pytest.raises(ConfigError):
        site.plan()
