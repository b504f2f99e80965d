"""Policies speak of ACLs, quotas, users and configs of brokers as they do of topics."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.plan import Plan
from kplan.workflow.ports import PolicyOptions
from tests.project_harness import ProjectHarness


@dataclass(frozen=True, slots=True)
class Case:
    """A block whose attribute goes from one value to another; `at` is how a policy names it."""

    kind: str
    block: str
    old: str
    new: str
    at: str

    def declared(self, value: str) -> str:
        """Declare the object with the value."""
        return f'resource "{self.kind}" "x" {{\n{dedent(self.block)}}}\n'.replace("VALUE", value)


CASES = [
    Case(
        "kafka_acl",
        """
        resource_type       = "Topic"
        resource_name       = "t"
        acl_principal       = "User:app"
        acl_host            = "VALUE"
        acl_operation       = "Read"
        acl_permission_type = "Allow"
        """,
        "10.0.0.1",
        "*",
        "acl_host",
    ),
    Case(
        "kafka_quota",
        """
        entity_type = "user"
        entity_name = "app"
        config      = { consumer_byte_rate = "VALUE" }
        """,
        "1000",
        "2000",
        'config["consumer_byte_rate"]',
    ),
    Case(
        "kafka_user_scram_credential",
        """
        username         = "app"
        scram_mechanism  = "SCRAM-SHA-256"
        scram_iterations = VALUE
        password         = "secret"
        """,
        "8192",
        "4096",
        "scram_iterations",
    ),
    Case(
        "kafka_broker_config",
        'config = { "log.cleaner.threads" = "VALUE" }\n',
        "2",
        "1",
        'config["log.cleaner.threads"]',
    ),
]
OTHER = 'resource "kafka_topic" "other" {\n  name = "other"\n}\n'


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    return ProjectHarness(tmp_path, MemoryCluster())


@pytest.fixture(params=CASES, ids=[each.kind for each in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def in_hcl(case: Case, operation: str, side: str, value: str) -> str:
    condition = f'tostring({side}.{case.at}) == "{value}"'
    rule = f'condition = {condition}\n message = "${{change.operation}} of ${{change.identity}}"'
    return f'policy "p" {{\non = ["{operation}"]\nkind = "{case.kind}"\ndeny {{\n{rule}\n}}\n}}\n'


def in_python(case: Case, operation: str, side: str, value: str) -> str:
    state = {"requested": "requested_state", "current": "current_state"}[side]
    key = case.at.removeprefix("config").strip('[]"')
    held = f"request.{state}" + ('["config"]' if case.at.startswith("config") else "")
    return dedent(f"""
        class Rule:
            def validate_{operation}_{case.kind.removeprefix("kafka_")}(self, request, cluster):
                if str({held}[{key!r}]) == {value!r}:
                    raise ValueError("no")
        """)


def refused(plan: Plan) -> list[str]:
    return sorted(f"{each.operation} {each.kind}" for each in plan.violations)


@pytest.mark.parametrize("language", ["hcl", "python"])
def test_a_policy_refuses_to_create_alter_and_delete(
    site: ProjectHarness, case: Case, language: str
) -> None:
    """Issue 7, item 1: the same for ACLs, quotas, users and broker configs; K201-24, K201-28."""
    # An ACL is never altered: the old one goes, and a new one comes.
    altering = "create" if case.kind == "kafka_acl" else "alter"
    for operation, side, value, before, after in (
        ("create", "requested", case.old, None, case.old),
        (altering, "requested", case.new, case.old, case.new),
        ("delete", "current", case.old, case.old, None),
    ):
        hcl, python = in_hcl(case, operation, side, value), in_python(case, operation, side, value)
        site.write(OTHER + ("" if before is None else case.declared(before)))
        site.apply()
        text = OTHER + ("" if after is None else case.declared(after))
        rules = site.folder / "rules.py"
        rules.write_text(python)
        paths = (str(rules),) if language == "python" else ()
        site.write(text + (hcl if language == "hcl" else ""))
        plan = site.plan(policies=PolicyOptions(paths=paths)).plan
        assert refused(plan) == [f"{operation} {case.kind}"]
        assert not any(each.kind == case.kind for each in plan.batches)
        site.write(OTHER)
        site.apply()


def test_with_the_mode_all_nothing_is_done_of_any_kind(site: ProjectHarness, case: Case) -> None:
    """-policy-mode=all: one refusal stops the topic beside it too."""
    site.write(OTHER + case.declared(case.old) + in_hcl(case, "create", "requested", case.old))
    for mode, topics in (("all", set[str]()), ("item", {"other"})):
        done = site.apply(policies=PolicyOptions(mode=mode))
        assert set(site.cluster.topics()) == topics
        assert ("KP329" in {each.code for each in done.plan_result.plan.diagnostics}) is (
            mode == "all"
        )
