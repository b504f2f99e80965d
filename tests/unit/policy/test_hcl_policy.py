"""HCL policies: what they are asked, what they refuse, and what becomes of the rest."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cli.exit_code import ExitCode, outcomes_exit, plan_exit
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.model.errors import ConfigError, RefusalOrigin
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Plan
from kplan.model.policy import ViolationStatus
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.plan import save_plan
from kplan.workflow.ports import PlanOptions, PolicyOptions
from tests.project_harness import ProjectHarness

TOPICS = """
locals { sizes = { small = 3, large = 40 } }
resource "kafka_topic" "t" {
  for_each           = local.sizes
  name               = each.key
  partitions         = each.value
  replication_factor = 3
}
"""
CAP = """
policy "cap" {
  on    = ["create", "alter"]
  kind  = "kafka_topic"
  LEVEL
  deny {
    condition = requested.partitions > 12
    message   = "${requested.name} has ${requested.partitions} partitions, and 12 is the most"
    fix       = "Ask the platform team for more."
  }
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    return ProjectHarness(tmp_path, MemoryCluster())


def policy(body: str, rule: str = 'condition = true\n message = "no"', effect: str = "deny") -> str:
    return f'policy "p" {{\n{body}\n{effect} {{\n{rule}\n}}\n}}\n'


def cap(level: str = "") -> str:
    return CAP.replace("LEVEL", level)


def standings(plan: Plan) -> list[tuple[str, str, str]]:
    return [(each.identity, each.policy, each.standing.value) for each in plan.violations]


def test_what_a_policy_refuses_is_left_out_and_the_rest_goes_on(site: ProjectHarness) -> None:
    """K201-13: a violation affects only its own topic."""
    site.write(TOPICS + cap())
    done = site.apply()
    assert [(each.change.identity, each.status) for each in done.outcomes] == [
        ("small", OutcomeStatus.APPLIED),
        ("large", OutcomeStatus.FAILED),
    ]
    refusal = done.outcomes[1].refusal
    assert refusal is not None
    assert (refusal.error, refusal.origin) == ("POLICY_VIOLATION", RefusalOrigin.POLICY)
    assert refusal.message == "large has 40 partitions, and 12 is the most (policy cap)"
    assert sorted(site.cluster.topics()) == ["small"]
    assert outcomes_exit(done.plan_result.plan, done.outcomes, detailed=True) is ExitCode.REFUSED
    assert outcomes_exit(done.plan_result.plan, done.outcomes, detailed=False) is ExitCode.ERROR


def test_a_refusal_names_the_policy_the_resource_and_the_way_out(site: ProjectHarness) -> None:
    """K201-07, K201-26."""
    site.write(TOPICS, "topics.tf")
    site.write(cap(), "policies.hcl")
    plan = site.plan().plan
    (told,) = plan.all_diagnostics
    assert (told.code, told.is_error) == ("KP320", True)
    assert str(told.address) == 'kafka_topic.t["large"]'
    assert told.subject is not None
    assert told.subject.file == "topics.tf"
    assert [(label, place.file, place.line) for label, place in told.related] == [
        ("the policy", "policies.hcl", 7)
    ]
    assert told.hint == "Ask the platform team for more."
    assert dict(told.values)["requested.partitions"] == "is 40"
    assert plan_exit(plan, detailed=True) is ExitCode.REFUSED


def test_one_refusal_stops_everything_where_all_or_nothing_is_asked_for(
    site: ProjectHarness,
) -> None:
    site.write(TOPICS + cap())
    done = site.apply(policies=PolicyOptions(mode="all"))
    assert (done.is_approved, site.cluster.topics()) == (False, {})
    assert plan_exit(done.plan_result.plan, detailed=True) is ExitCode.REFUSED
    site.write(TOPICS + cap() + 'policies { mode = "all" }')
    assert not site.apply().is_approved
    assert site.apply(policies=PolicyOptions(mode="item")).is_approved


def test_nothing_is_asked_about_what_does_not_change(site: ProjectHarness) -> None:
    site.write(TOPICS)
    site.apply()
    site.write(TOPICS + cap())
    assert site.plan().plan.violations == ()


def test_a_topic_cannot_be_grown_past_what_it_could_be_created_with(site: ProjectHarness) -> None:
    """K201-09, K201-15: Kafka lets a policy be walked around by CreatePartitions (trap 9)."""
    site.write(TOPICS.replace("40", "6") + cap())
    site.apply()
    site.write(TOPICS + cap())
    assert standings(site.plan().plan) == [("large", "cap", "refused")]


def test_an_edit_of_one_key_is_judged_with_all_the_others(site: ProjectHarness) -> None:
    """K201-08: Kafka's AlterConfigPolicy sees only the keys that change."""
    rule = (
        'condition = try(requested.config["cleanup.policy"], "") == "compact" && '
        'try(requested.config["min.insync.replicas"], "1") != "2"\n message = "compacted"'
    )
    site.write(TOPICS)
    site.apply()
    compact = TOPICS.replace("= 3\n}", '= 3\n config = { "cleanup.policy" = "compact" }\n}')
    on_topics = policy('on = ["create", "alter"]\nkind = "kafka_topic"', rule)
    site.write(compact + on_topics)
    assert [each.message for each in site.plan().plan.violations] == ["compacted"] * 2
    site.write(
        compact.replace('"compact" }', '"compact", "min.insync.replicas" = "2" }') + on_topics
    )
    assert site.plan().plan.violations == ()


def test_the_second_of_two_topics_that_are_too_much_together_is_refused(
    site: ProjectHarness,
) -> None:
    """K201-16, K201-05: totals count the rest of the plan, and not what is refused."""
    rule = 'condition = cluster.so_far.partitions > 45\n message = "${cluster.so_far.partitions}"'
    site.write(
        TOPICS.replace("small = 3", "small = 30, tiny = 5")
        + policy('on = ["create"]\nkind = "kafka_topic"', rule)
    )
    plan = site.plan().plan
    assert [(each.identity, each.message) for each in plan.violations] == [("small", "70")]
    assert plan.count(*[each.action for each in plan.changes]) == 2


def test_a_policy_may_go_by_the_principal(site: ProjectHarness) -> None:
    """K201-17, K201-06."""
    rule = 'condition = !startswith(requested.name, "ci.")\n message = "not by ${principal}"'
    when = 'on = ["create"]\nwhen = principal == "User:ci"'
    site.write(TOPICS + policy(when, rule))
    assert site.plan().plan.violations == ()
    found = site.plan(policies=PolicyOptions(principal="User:ci")).plan.violations
    assert [each.message for each in found] == ["not by User:ci"] * 2


def test_deletes_are_judged_by_what_is_there(site: ProjectHarness) -> None:
    """K201-11, which no policy of Kafka covers."""
    site.write(TOPICS)
    site.apply()
    rule = 'condition = current.partitions > 12\n message = "too big to go"'
    left = 'resource "kafka_topic" "other" {\n name = "other"\n}\n'
    site.write(left + policy('on = ["delete"]\nkind = "kafka_topic"', rule))
    done = site.apply()
    assert sorted(site.cluster.topics()) == ["large", "other"]
    assert standings(done.plan_result.plan) == [("large", "p", "refused")]
    assert any(each.identity == "large" for each in done.state.owned.values())


def test_acls_are_judged_too_and_a_replacement_is_a_delete_and_a_create(
    site: ProjectHarness,
) -> None:
    """K201-28."""
    acl = """
    resource "kafka_acl" "a" {
      resource_name = "t"
      resource_type = "Topic"
      acl_principal = "User:WHO"
      acl_host = "*"
      acl_operation = "Read"
      acl_permission_type = "Allow"
    }
    """
    rule = 'condition = requested.acl_principal == "User:*"\n message = "everyone"'
    asked = policy('on = ["create"]\nkind = "kafka_acl"', rule)
    gone = (
        asked.replace('"p"', '"kept"').replace("create", "delete").replace("requested", "current")
    )
    site.write(acl.replace("WHO", "a") + asked + gone)
    site.apply()
    site.write(acl.replace("WHO", "*") + asked + gone)
    assert [(each.operation.value, each.policy) for each in site.plan().plan.violations] == [
        ("create", "p")
    ]


@pytest.mark.parametrize(
    ("effect", "code", "is_told"), [("warn", "KP321", True), ("advise", "KP333", False)]
)
def test_warnings_and_advice_keep_nothing_back(
    site: ProjectHarness, effect: str, code: str, is_told: bool
) -> None:
    site.write(TOPICS + policy('on = ["create"]', effect=effect))
    done = site.apply()
    plan = done.plan_result.plan
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert {each.diagnostic.code for each in plan.violations} == {code}
    assert bool(plan.all_diagnostics) is is_told
    assert all(any(code in note for note in each.notes) for each in plan.changes)


def test_an_advisory_policy_tells_what_it_would_refuse(site: ProjectHarness) -> None:
    site.write(TOPICS + cap('level = "advisory"'))
    plan = site.plan().plan
    assert standings(plan) == [("large", "cap", "told")]
    assert [(each.code, each.is_error) for each in plan.all_diagnostics] == [("KP322", False)]


def test_a_soft_policy_gives_way_to_a_reason_and_the_reason_is_recorded(
    site: ProjectHarness,
) -> None:
    site.write(TOPICS + cap('level = "soft"'))
    plan = site.plan().plan
    assert standings(plan) == [("large", "cap", "refused")]
    hint = "Ask the platform team for more, or say why it must be: -override 'cap=REASON'"
    assert plan.all_diagnostics[0].hint == hint
    over = PolicyOptions(overrides={"cap": "load test of May"})
    done = site.apply(policies=over)
    assert sorted(site.cluster.topics()) == ["large", "small"]
    (found,) = done.plan_result.plan.violations
    assert (found.standing, found.reason) == (
        ViolationStatus.OVERRIDDEN,
        "overridden: load test of May",
    )


@pytest.mark.parametrize("name", ["cap", "nobody"])
def test_a_hard_policy_and_one_that_is_not_there_cannot_be_overridden(
    site: ProjectHarness, name: str
) -> None:
    site.write(TOPICS + cap())
    plan = site.plan(policies=PolicyOptions(overrides={name: "because"})).plan
    assert "KP330" in {each.code for each in plan.diagnostics}
    assert plan.has_errors


WAIVERS = """waivers = [{
    owner = "team-x", reason = "migration", expires = "DAY", applies_to = ["lar*"]
  }]"""


def test_a_waiver_holds_up_to_its_last_day_and_is_listed(site: ProjectHarness) -> None:
    site.write(TOPICS + cap(WAIVERS.replace("DAY", "2026-01-02")))
    plan = site.plan().plan
    (found,) = plan.violations
    assert (found.standing, found.reason) == (
        ViolationStatus.WAIVED,
        "waived by team-x until 2026-01-02: migration",
    )
    assert [each.code for each in plan.all_diagnostics] == ["KP324"]


def test_a_waiver_that_has_ended_is_told_and_the_policy_refuses_again(site: ProjectHarness) -> None:
    site.write(TOPICS + cap(WAIVERS.replace("DAY", "2026-01-01")))
    plan = site.plan().plan
    assert standings(plan) == [("large", "cap", "refused")]
    assert sorted(each.code for each in plan.all_diagnostics) == ["KP320", "KP325"]


def test_a_policy_without_an_answer_refuses(site: ProjectHarness) -> None:
    site.write(
        TOPICS + policy('on = ["create"]', 'condition = current.partitions > 1\nmessage="x"')
    )
    plan = site.plan().plan
    assert {each.diagnostic.code for each in plan.violations} == {"KP326"}
    assert plan.refused_keys == {("kafka_topic", "small", ""), ("kafka_topic", "large", "")}


def test_what_could_not_be_read_is_not_taken_for_nothing(site: ProjectHarness) -> None:
    rule = 'condition = length(cluster.acls) > 1000\n message = "full"'
    site.write(TOPICS + policy('on = ["create"]', rule))
    site.cluster.deny_operation("DESCRIBE", "CLUSTER")
    plan = site.plan().plan
    assert {each.diagnostic.code for each in plan.violations} == {"KP326"}
    assert "could not be read" in plan.violations[0].message


def test_a_saved_plan_is_judged_again_by_the_policies_of_that_day(
    site: ProjectHarness, tmp_path: Path
) -> None:
    """K201-01: the same policies in plan and again in apply."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "cap.hcl").write_text(cap().replace("12", "50"))
    options = PlanOptions(policies=PolicyOptions(paths=(str(rules),)))
    site.write(TOPICS)
    saved = tmp_path / "p.kplan"
    save_plan(site.plan(policies=options.policies), saved, site.ports.now())
    (rules / "cap.hcl").write_text(cap())
    hands = ApplyHandlers(lambda _: True, site.watcher)
    done = apply_saved(site.project, saved, options, (site.ports, hands))
    assert [(each.change.identity, each.status) for each in done.outcomes] == [
        ("small", OutcomeStatus.APPLIED),
        ("large", OutcomeStatus.FAILED),
    ]


def test_what_was_refused_when_the_plan_was_saved_stays_refused(
    site: ProjectHarness, tmp_path: Path
) -> None:
    site.write(TOPICS + cap())
    saved = tmp_path / "p.kplan"
    save_plan(site.plan(), saved, site.ports.now())
    hands = ApplyHandlers(lambda _: True, site.watcher)
    done = apply_saved(site.project, saved, PlanOptions(), (site.ports, hands))
    assert [(each.change.identity, each.status) for each in done.outcomes] == [
        ("small", OutcomeStatus.APPLIED),
        ("large", OutcomeStatus.FAILED),
    ]


def test_a_saved_plan_keeps_the_reasons_of_its_overrides(
    site: ProjectHarness, tmp_path: Path
) -> None:
    site.write(TOPICS + cap('level = "soft"'))
    saved = tmp_path / "p.kplan"
    save_plan(
        site.plan(policies=PolicyOptions(overrides={"cap": "agreed"})), saved, site.ports.now()
    )
    hands = ApplyHandlers(lambda _: True, site.watcher)
    done = apply_saved(site.project, saved, PlanOptions(), (site.ports, hands))
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}


def test_policies_of_a_called_module_hold_for_the_whole_plan(site: ProjectHarness) -> None:
    inner = site.folder / "inner"
    inner.mkdir()
    (inner / "main.tf").write_text('variable "most" {}\n' + cap().replace("12", "var.most"))
    site.write(TOPICS + 'module "rules" {\n source = "./inner"\n most = 20\n}')
    assert standings(site.plan().plan) == [("large", "cap", "refused")]


def test_two_places_that_decide_the_same_are_both_asked(site: ProjectHarness) -> None:
    """HCL and Python together need no order: it changes nothing."""
    rules = site.folder / "rules"
    rules.mkdir()
    (rules / "cap.hcl").write_text(cap().replace('"cap"', '"other"'))
    (rules / "more.py").write_text(
        "class More:\n    def validate_create_topic(self, request, cluster):\n"
        "        raise ValueError('no')\n"
    )
    site.write(TOPICS + cap())
    paths = PolicyOptions(paths=(str(rules),))
    plan = site.plan(policies=paths).plan
    assert plan.diagnostics == ()
    assert {each[1] for each in standings(plan)} == {"cap", "other", "More"}


def test_an_old_policy_beside_a_new_one_needs_an_order(site: ProjectHarness) -> None:
    """K201-22: both decide the same, and the old one sees less."""
    (site.folder / "old.py").write_text(
        "class Old:\n    def create(self, meta):\n        raise ValueError('no')\n"
    )
    site.write(TOPICS + cap())
    paths = PolicyOptions(paths=(str(site.folder / "old.py"),))
    plan = site.plan(policies=paths).plan
    assert "KP328" in {each.code for each in plan.diagnostics}
    assert plan.has_errors
    site.write(TOPICS + cap("order = 5"))
    assert not site.plan(policies=paths).plan.has_errors


def test_policies_that_are_asked_for_and_not_there_stop_the_run(site: ProjectHarness) -> None:
    """K201-02: a missing policy is never silently off (trap 10)."""
    site.write(TOPICS)
    plan = site.plan(policies=PolicyOptions(paths=("nowhere",))).plan
    assert [each.code for each in plan.diagnostics] == ["KP327"]
    assert plan.has_errors


def test_the_value_of_a_secret_is_not_told(site: ProjectHarness) -> None:
    site.write(
        'variable "s" {\n sensitive = true\n default = "77:88"\n}\n'
        + TOPICS.replace(
            "= 3\n}", '= 3\n config = { "follower.replication.throttled.replicas" = var.s }\n}'
        )
        + policy(
            'on = ["create"]',
            'condition = requested.config["follower.replication.throttled.replicas"] != "*"\n'
            'message = requested.config["follower.replication.throttled.replicas"]',
        )
    )
    made = site.plan(has_broker_check=False).plan
    assert made.violations
    assert "77:88" not in str(made.violations)


def test_an_old_topic_beside_the_plan_counts(site: ProjectHarness) -> None:
    site.cluster.seed([NewTopic("old", 10, 1)])
    site.write(
        TOPICS
        + policy('on = ["create"]', 'condition = cluster.totals.partitions != 10\nmessage="x"')
    )
    assert site.plan().plan.violations == ()


MISTAKES = [
    ('on = ["creates"]', "KP137", 'Did you mean "create"?'),
    ("on = []", "KP137", ""),
    ('on = ["create"]\nkind = "kafka_topics"', "KP137", 'Did you mean "kafka_topic"?'),
    ('on = ["create"]\nlevel = "harsh"', "KP137", 'Did you mean "hard"?'),
    ('on = ["create"]\norder = 1.5', "KP137", ""),
    ('on = ["create"]\nwhen = requested.partition > 1', "KP144", 'Did you mean "partitions"?'),
    ('on = ["create"]\nwhen = cluster == null', "KP116", ""),
    ("on = requested.name", "KP180", ""),
    ('on = ["create"]\nwhen = var.no', "KP140", ""),
    (
        'on = ["create"]\nwaivers = [{owner="a",reason="b",expires="soon",applies_to=["x"]}]',
        "KP137",
        "",
    ),
    (
        'on = ["create"]\nwaivers = [{owner="",reason="b",expires="2027-01-01",applies_to=["x"]}]',
        "KP137",
        "",
    ),
    ('kind = "kafka_topic"', "KP122", ""),
]


@pytest.mark.parametrize(("body", "code", "hint"), MISTAKES)
def test_a_mistake_in_a_policy_is_told_before_anything_is_planned(
    site: ProjectHarness, body: str, code: str, hint: str
) -> None:
    site.write(TOPICS + policy(body))
    with pytest.raises(ConfigError) as raised:
        site.plan()
    (told,) = raised.value.diagnostics
    assert (told.code, hint in told.hint) == (code, True)
    assert told.subject is not None


def test_a_policy_that_decides_nothing_is_a_mistake(site: ProjectHarness) -> None:
    site.write(TOPICS + 'policy "p" {\n on = ["create"]\n}')
    with pytest.raises(ConfigError) as raised:
        site.plan()
    assert [each.code for each in raised.value.diagnostics] == ["KP137"]


def test_the_checksum_tells_a_plan_with_refusals_from_one_without(site: ProjectHarness) -> None:
    site.write(TOPICS)
    before = site.plan().plan
    site.write(TOPICS + cap())
    assert replace(before).checksum != site.plan().plan.checksum


def test_a_policy_may_be_written_in_json(site: ProjectHarness) -> None:
    rule = {"condition": "${requested.partitions > 12}", "message": "${requested.name} is large"}
    block = {"on": ["create"], "kind": "kafka_topic", "deny": [rule]}
    site.write(TOPICS)
    site.write(json.dumps({"policy": {"p": block}}), "rules.tf.json")
    (found,) = site.plan().plan.violations
    assert found.message == "large is large"
    assert dict(found.diagnostic.related)["the policy"].file == "rules.tf.json"


@pytest.mark.parametrize(
    ("message", "told"),
    [("12", "12"), ("null", "(the policy gives no message)"), ("[1]", "is not text)")],
)
def test_a_message_is_text_whatever_was_written(
    site: ProjectHarness, message: str, told: str
) -> None:
    site.write(TOPICS + policy('on = ["create"]', f"condition = true\n message = {message}"))
    assert all(told in each.message for each in site.plan().plan.violations)


def test_kinds_of_which_there_is_nothing_here_are_not_read_for_a_policy(
    site: ProjectHarness,
) -> None:
    rule = 'condition = length(cluster.kafka_quota) > 0\n message = "x"'
    site.write(TOPICS + policy('on = ["create"]', rule))
    assert "No kafka_quota is declared or owned here" in site.plan().plan.violations[0].message
