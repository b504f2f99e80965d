"""Policies in Python: KIP-201's interface, and those of the old shape."""

from pathlib import Path
from textwrap import dedent

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.model.plan import Plan
from kplan.model.policy import ViolationStatus
from kplan.workflow.ports import PolicyOptions
from tests.project_harness import ProjectHarness

TOPIC = """
resource "kafka_topic" "t" {
  name               = "t"
  partitions         = 3
  replication_factor = 2
  config             = { "retention.ms" = "1000" }
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(TOPIC)
    return found


def rules(site: ProjectHarness, text: str, name: str = "rules.py") -> PolicyOptions:
    path = site.folder / name
    path.write_text(dedent(text))
    return PolicyOptions(paths=(str(path),))


def planned(site: ProjectHarness, text: str, *, more: str = "") -> Plan:
    site.write(TOPIC + more)
    return site.plan(policies=rules(site, text)).plan


def codes(plan: Plan) -> list[str]:
    return [each.code for each in plan.all_diagnostics]


def test_a_class_sees_the_requested_topic_as_kip_201_describes_it(site: ProjectHarness) -> None:
    """K201-03, K201-04, K201-06, K201-07."""
    plan = planned(
        site,
        """
        class Layout:
            name = "layout"
            def validate_create_topic(self, request, cluster):
                wanted = request.requested_state
                raise ValueError(repr((
                    request.topic, request.principal, wanted.num_partitions,
                    wanted.replication_factor, wanted.replicas_assignments, wanted.configs,
                    wanted.generated_replica_assignments, wanted.internal,
                    wanted.marked_for_deletion, request.current_state, cluster.cluster_size(),
                    cluster.topic_state("t"), sorted(cluster.topics()),
                )))
        """,
    )
    (found,) = plan.violations
    assert found.message == repr(
        (
            "t", "User:kplan", 3, 2, {0: [1, 2], 1: [2, 3], 2: [3, 1]}, {"retention.ms": "1000"},
            True, False, False, None, 3, None, [],
        )
    )  # fmt: skip
    assert (found.policy, found.standing) == ("layout", ViolationStatus.REFUSED)
    places = dict(found.diagnostic.related)
    assert (places["the policy"].file, places["the policy"].line) == (
        str(site.folder / "rules.py"),
        6,
    )


def test_a_class_sees_the_whole_topic_as_it_will_be_and_as_it_is(site: ProjectHarness) -> None:
    """K201-08, K201-09, K201-10: an alteration is judged by where it leads."""
    site.apply()
    text = """
    class Whole:
        def validate_alter_topic(self, request, cluster):
            after, before = request.requested_state, request.current_state
            assert before == cluster.topic_state("t")
            assert len(after.replicas_assignments) == 5
            assert list(after.replicas_assignments.values())[:3] == list(
                before.replicas_assignments.values())
            raise ValueError(f"{before.num_partitions} to {after.num_partitions}, "
                             f"{after.configs}, {cluster.total('partitions')}")
    """
    site.write(TOPIC.replace("= 3", "= 5"))
    plan = site.plan(policies=rules(site, text)).plan
    assert plan.violations[0].message == "3 to 5, {'retention.ms': '1000'}, 5"


def test_deletes_and_acls_have_methods_of_their_own(site: ProjectHarness) -> None:
    """K201-11, K201-28, K201-24: a method for each operation on each kind."""
    site.apply()
    site.write("""
    resource "kafka_acl" "a" {
      resource_name = "t"
      resource_type = "Topic"
      acl_principal = "User:a"
      acl_host = "*"
      acl_operation = "Read"
      acl_permission_type = "Allow"
    }
    """)
    text = """
    class Both:
        def validate_delete_topic(self, request, cluster):
            raise ValueError(f"keep {request.topic}: {request.current_state.num_partitions}")
        def validate_create_acl(self, request, cluster):
            raise ValueError("no " + request.requested_state["acl_operation"])
    """
    plan = site.plan(policies=rules(site, text)).plan
    assert sorted(each.message for each in plan.violations) == ["keep t: 3", "no Read"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("validate_creat_topic", "; did you mean validate_create_topic"),
        ("validate_create_user", "; did you mean validate_create_"),
        ("validate_x", ""),
    ],
)
def test_a_method_that_would_never_be_asked_is_told(
    site: ProjectHarness, name: str, meant: str
) -> None:
    plan = planned(site, f"class P:\n    def {name}(self, request, cluster): pass\n")
    (problem,) = plan.diagnostics
    assert problem.is_error
    assert f"{name} would judge nothing{meant}" in problem.detail


def test_configure_and_close_are_called_once_even_after_an_error(site: ProjectHarness) -> None:
    """K201-02."""
    log = site.folder / "log"
    plan = planned(
        site,
        f"""
        from pathlib import Path
        class Counted:
            def configure(self, settings):
                self.settings = settings
            def validate_create_topic(self, request, cluster):
                1 / 0
            def close(self):
                with Path({str(log)!r}).open("a") as file:
                    file.write(str(self.settings))
        """,
        more="policies {\n settings = { most = 3 }\n}",
    )
    assert log.read_text() == "{'most': 3}"
    assert plan.violations[0].message == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("class A:\n  def validate_create_topic(self", "SyntaxError"),
        ("x = 1", "no class with a validate_... method"),
        (
            "class A:\n def configure(self, s): 1 / 0\n def validate_create_acl(self, r, c): 1",
            "ZeroDivisionError: division by zero",
        ),
        ("class A:\n level = 'x'\n def validate_create_topic(self, r, c): pass", "is not a valid"),
        ("class A:\n order = 'x'\n def validate_create_topic(self, r, c): pass", "invalid literal"),
        ("raise SystemExit(3)", "SystemExit"),
    ],
)
def test_a_file_that_cannot_be_used_stops_the_plan_with_its_reason(
    site: ProjectHarness, text: str, told: str
) -> None:
    plan = planned(site, text)
    (found,) = plan.diagnostics
    assert (found.code, told in found.detail) == ("KP327", True)
    assert plan.has_errors


def test_a_policy_that_ends_the_program_is_a_refusal_and_no_more(site: ProjectHarness) -> None:
    plan = planned(site, "class A:\n def validate_create_topic(self, r, c):\n  raise SystemExit(0)")
    assert codes(plan) == ["KP326"]


def test_the_level_and_order_of_a_class_are_those_of_its_policy(site: ProjectHarness) -> None:
    text = """
    class B:
        order = 2
        level = "advisory"
        def validate_create_topic(self, request, cluster):
            raise ValueError("b")
    class A:
        order = 1
        def validate_create_topic(self, request, cluster):
            raise ValueError("a")
    """
    plan = planned(site, text)
    assert [(each.policy, each.standing.value) for each in plan.violations] == [
        ("A", "refused"),
        ("B", "told"),
    ]


def test_policies_of_the_old_shape_see_what_kafka_shows_them(site: ProjectHarness) -> None:
    """K201-23; KRaft asks both about a topic that is created (trap 10)."""
    text = """
    seen = []
    def create(meta):
        raise ValueError(f"{meta.topic} {meta.num_partitions} {meta.replication_factor} "
                         f"{meta.replicas_assignments} {meta.configs} {seen}")
    def alter(meta):
        seen.append((meta.resource, meta.configs))
    """
    plan = planned(site, text)
    assert plan.violations[0].message == (
        "t 3 2 None {'retention.ms': '1000'} [('t', {'retention.ms': '1000'})]"
    )
    assert plan.violations[0].policy == "rules"
    assert sorted(codes(plan)) == ["KP320", "KP334"]


def test_an_old_alter_policy_is_asked_about_changed_keys_only(site: ProjectHarness) -> None:
    site.apply()
    site.write(TOPIC.replace("= 3", "= 5").replace('"1000"', '"9"'))
    text = """
    class Old:
        def alter(self, meta):
            raise ValueError(str(meta.configs))
    """
    plan = site.plan(policies=rules(site, text)).plan
    assert plan.violations[0].message == "{'retention.ms': '9'}"


def test_a_folder_holds_python_and_hcl(site: ProjectHarness) -> None:
    folder = site.folder / "rules"
    folder.mkdir()
    (folder / "a.py").write_text(
        "class A:\n def validate_create_topic(self, r, c): raise ValueError('py')"
    )
    (folder / "b.hcl").write_text(
        'policy "h" {\n on = ["create"]\n deny {\n condition = true\n message = "hcl"\n }\n}'
    )
    (folder / "test_a.py").write_text("1 / 0")
    plan = site.plan(policies=PolicyOptions(paths=(str(folder),))).plan
    assert [each.message for each in plan.violations] == ["hcl", "py"]


def test_an_empty_folder_is_no_policy(site: ProjectHarness) -> None:
    (site.folder / "rules").mkdir()
    plan = site.plan(policies=PolicyOptions(paths=(str(site.folder / "rules"),))).plan
    assert codes(plan) == ["KP327"]


def test_topics_that_are_there_can_be_counted(site: ProjectHarness) -> None:
    site.cluster.seed([NewTopic("old", 4, 1)])
    text = """
    class Budget:
        def validate_create_topic(self, request, cluster):
            raise ValueError(f"{cluster.total('partitions')} {sorted(cluster.topics())}")
    """
    assert planned(site, text).violations[0].message == "7 ['old']"


def test_a_package_offers_policies_by_name(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry point group kplan.policies."""

    class Offered:
        name = "acme"

        def validate_create_topic(self, request: object, cluster: object) -> None:
            del request, cluster
            raise ValueError("not at acme")

    class Point:
        name = "acme-topics"

        def load(self) -> type[Offered]:
            return Offered

    def found(*, group: str) -> list[Point]:
        assert group == "kplan.policies"
        return [Point()]

    monkeypatch.setattr("importlib.metadata.entry_points", found)
    plan = site.plan(policies=PolicyOptions(paths=("acme-topics",))).plan
    assert [(each.policy, each.message) for each in plan.violations] == [("acme", "not at acme")]
    plan = site.plan(policies=PolicyOptions(paths=("acme-topic",))).plan
    assert "no installed package provides 'acme-topic'" in plan.diagnostics[0].detail
