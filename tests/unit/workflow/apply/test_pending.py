"""What was applied and is not seen everywhere yet, when the next run is about something else."""

from datetime import timedelta
from pathlib import Path

import pytest

from kplan.apply.limits import Limits
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import TopicRef
from kplan.model.state import OwnedObject
from tests.project_harness import Killed, ProjectHarness

TOPICS = """
resource "kafka_topic" "t" {
  for_each           = toset([NAMES])
  name               = each.key
  partitions         = 3
  replication_factor = 1
}
"""


def declared(*names: str) -> str:
    return TOPICS.replace("NAMES", ", ".join(f'"{each}"' for each in names))


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    """One topic was applied, and nobody waited for it."""
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(declared("a"))
    found.apply(limits=Limits(waits_for_visibility=False))
    return found


def owned(site: ProjectHarness) -> dict[str, OwnedObject]:
    state = site.project.store.read()
    assert state is not None
    return {each.identity: each for each in state.owned.values()}


def test_it_stays_pending_until_somebody_has_looked_at_every_broker(site: ProjectHarness) -> None:
    """Item 4: an apply of something else says nothing of it."""
    assert owned(site)["a"].is_pending
    site.write(declared("a", "b"))
    site.apply()
    assert {name: each.is_pending for name, each in owned(site).items()} == {"a": True, "b": False}


def test_a_plan_right_after_it_proposes_nothing_of_it(site: ProjectHarness) -> None:
    site.cluster.delay_reads(3)  # of what is written from now on
    site.write(declared("a", "b"))
    site.apply(limits=Limits(waits_for_visibility=False))
    assert not site.plan().plan.has_changes


def test_what_somebody_changed_long_after_the_apply_is_not_waited_for(site: ProjectHarness) -> None:
    """Every plan took 20 seconds until the next apply."""
    site.cluster.delete_topics([TopicRef("a")])
    site.cluster.calls.clear()
    assert site.plan().plan.has_changes
    assert site.cluster.count("topics") > 5
    site.now += timedelta(hours=1)
    site.cluster.calls.clear()
    assert site.plan().plan.has_changes
    assert site.cluster.count("topics") < 5


def test_a_run_about_something_else_neither_waits_for_it_nor_touches_it(
    site: ProjectHarness,
) -> None:
    """Pending, and -target at another object."""
    site.write(declared("a", "b"))
    site.cluster.delay_reads(1_000)
    site.cluster.calls.clear()
    plan = site.plan(targets=('kafka_topic.t["b"]',)).plan
    assert [str(each.address) for each in plan.changes] == ['kafka_topic.t["b"]']
    assert site.cluster.count("topics") < 5
    site.cluster.delay_reads(0)
    site.apply(targets=('kafka_topic.t["b"]',))
    assert {name: each.is_pending for name, each in owned(site).items()} == {"a": True, "b": False}
    assert not site.plan().plan.has_changes


def test_it_stays_pending_where_it_moves(site: ProjectHarness) -> None:
    moved = "moved {\n  from = kafka_topic.t\n  to   = kafka_topic.u\n}\n"
    site.write(declared("a").replace('"t"', '"u"') + moved)
    site.apply()
    (entry,) = owned(site).values()
    assert (str(entry.address), entry.is_pending) == ('kafka_topic.u["a"]', True)


def test_what_a_killed_apply_made_is_waited_for_however_old_the_apply_before_is(
    site: ProjectHarness,
) -> None:
    """Trap 2: no entry of the state tells of the one that was killed."""

    def strike() -> None:
        raise Killed

    site.now += timedelta(hours=1)
    site.write(declared("a", "b"))
    site.cluster.delay_reads(6)
    site.cluster.run_before("create_topics", lambda: site.cluster.run_before("topics", strike))
    with pytest.raises(Killed):
        site.apply()
    site.cluster.clear_faults()
    assert not site.plan().plan.has_changes
    site.apply()  # it takes the outcomes of the other over, and changes nothing
    site.cluster.delay_reads(0)
    site.cluster.delete_topics([TopicRef("b")])
    site.cluster.calls.clear()
    assert site.plan().plan.has_changes
    assert site.cluster.count("topics") > 5, "that was a moment ago"
