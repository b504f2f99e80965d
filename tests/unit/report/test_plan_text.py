"""The plan as a person and as other people's tools read it."""

import re
from dataclasses import replace

import pytest

from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.impact import GroupImpact, Impact
from kplan.model.plan import Action, BrokerTransfer, Change, OutputChange, Plan, Risk
from kplan.model.state import OutputValue, Snapshot
from kplan.policy.risk import add_impacts, add_risks
from kplan.report.format import PLAIN_STYLE, TextStyle
from kplan.report.views import plan_text
from tests.values import acl, address, make_plan, owned, resource, snapshot, state, topic

ORDERS = "kafka_topic.orders"
ID = "topic-id-1"
WEEK, DAY = "604800000", "86400000"

# Equal in effect to what Atlantis (server/events/models) and tfcmt (pkg/terraform) look for.
ATLANTIS_COUNTS = re.compile(
    r"Plan: (?:(?P<imports>\d+) to import, )?(?P<add>\d+) to add, (?P<change>\d+) to change, "
    r"(?P<destroy>\d+) to destroy."
)
ATLANTIS_NOTHING = re.compile(
    r"No changes. (?:Infrastructure is up-to-date|Your infrastructure matches the configuration)."
)
TFCMT_PASS = re.compile(r"^(?:Plan: \d|No changes.)", re.MULTILINE)
TFCMT_NOTHING = re.compile(
    r"^(?:No changes\.|Plan: 0 to add, 0 to change, 0 to destroy\.)", re.MULTILINE
)
TFCMT_DESTROY = re.compile(r"[1-9]\d* to destroy.")
TFCMT_FAIL = re.compile(r"^(?:[│|] )?Error: ", re.MULTILINE)


def tfcmt_list(verb: str, text: str) -> list[str]:
    return re.findall(rf"^ *# (.*?) {verb}$", text, re.MULTILINE)


def shown(plan: Plan, *, is_grouped: bool = True, **look: object) -> str:
    return plan_text(plan, TextStyle(**look), is_grouped=is_grouped)  # type: ignore[arg-type] # by name


def one_of_each() -> Plan:
    """Destroy, replace, update and create topics and ACLs, forget one, adopt one, move one."""
    held = state(
        owned("kafka_topic.legacy", topic("legacy.v1"), "1"),
        owned('kafka_topic.orders["eu"]', topic("eu.orders"), "2"),
        owned("kafka_topic.gone", topic("gone"), "3"),
        owned("kafka_topic.before", topic("moving"), "4"),
        owned("kafka_acl.old", acl(acl_operation="Write")),
        owned("kafka_acl.swap", acl("User:billing")),
    )
    live = snapshot(
        [
            (topic("legacy.v1", config={"retention.ms": WEEK}), "1"),
            (topic("eu.orders", config={"retention.ms": WEEK, "cleanup.policy": "delete"}), "2"),
            (topic("moving"), "4"),
            (topic("found"), "5"),
        ],
        [acl(acl_operation="Write"), acl("User:billing")],
    )
    wanted = [
        resource(
            'kafka_topic.orders["eu"]',
            topic(
                "eu.orders", partitions=12, config={"retention.ms": DAY, "segment.ms": "3600000"}
            ),
        ),
        resource("kafka_topic.fresh", topic("fresh", config={"retention.bytes": "1073741824"})),
        resource("kafka_topic.after", topic("moving")),
        resource("kafka_topic.found", topic("found")),
        resource("kafka_acl.swap", acl("User:billing", acl_operation="Describe")),
        resource(
            "kafka_acl.new", acl("User:zoe", "orders.", resource_pattern_type_filter="Prefixed")
        ),
    ]
    plan = make_plan(
        wanted,
        held,
        live,
        config_digest="9f31c2aabbcc",
        moved=(("kafka_topic.before", "kafka_topic.after"),),
        cluster={
            "name": "prod-eu",
            "at": "kafka-1:9092",
            "principal": "User:kplan",
            "version": "4.1",
        },
    )
    return add_risks(replace(plan, cluster={**plan.cluster, "asked": "3", "refused": "0"}))


def nothing(**given: object) -> Plan:
    return make_plan(
        [resource(ORDERS, topic())],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
        **given,
    )


def update(before: dict[str, str], after: dict[str, str], live: Snapshot | None = None) -> str:
    held = topic(config=before)
    return shown(
        make_plan(
            [resource(ORDERS, topic(config=after))],
            state(owned(ORDERS, held, ID)),
            live or snapshot([(held, ID)]),
        )
    )


def test_the_first_line_names_the_cluster_and_what_the_plan_is_based_on() -> None:
    first = shown(one_of_each()).split("\n")[0]
    assert first == (
        "Cluster prod-eu (bWVtb3J5LWNsdXN0ZXItMQ, Kafka 4.1) at kafka-1:9092 as User:kplan"
        "   config 9f31c2a   state serial 1"
    )
    assert shown(nothing()).startswith("Cluster bWVtb3J5LWNsdXN0ZXItMQ   state serial 1\n")


def test_what_destroys_comes_first_then_updates_then_creates() -> None:
    text = shown(one_of_each())
    order = [text.index(words) for words in ("will be destroyed", "updated in-place", "created")]
    assert order == sorted(order)
    assert text.index("# kafka_acl:") < text.index("updated in-place"), "a swap destroys too"


def test_a_destroyed_topic_shows_all_it_has_why_and_what_is_lost() -> None:
    assert (
        "  # kafka_topic.legacy will be destroyed\n"
        "  # (because it is not in configuration)\n"
        '  - resource "kafka_topic" "legacy" {\n'
        '      - name               = "legacy.v1" -> null\n'
        "      - partitions         = 3 -> null\n"
        "      - replication_factor = 1 -> null\n"
    ) in shown(one_of_each())
    assert "    }\n    ! DANGEROUS  KP2101 every record of the topic is lost\n" in shown(
        one_of_each()
    )


def test_an_update_shows_only_what_changes_with_its_meaning_in_words() -> None:
    assert (
        '  # kafka_topic.orders["eu"] will be updated in-place\n'
        '  ~ resource "kafka_topic" "orders" {\n'
        '        name       = "eu.orders"\n'
        "      ~ partitions = 3 -> 12\n"
        "      ~ config     = {\n"
        '          - "cleanup.policy" = "delete" -> null\n'
        '          ~ "retention.ms"   = "604800000" -> "86400000"  (7d -> 1d)\n'
        '          + "segment.ms"     = "3600000"  (1h)\n'
        "        }\n"
        "        # (1 unchanged attribute hidden)\n"
        "    }\n"
    ) in shown(one_of_each())


def test_unchanged_config_keys_are_counted_and_not_shown() -> None:
    text = update({"a": "1", "b": "2", "c": "3"}, {"a": "9", "b": "2", "c": "3"})
    assert '          ~ "a" = "1" -> "9"\n            # (2 unchanged elements hidden)\n' in text
    assert '"b"' not in text


def test_a_removed_key_says_that_the_default_comes_back() -> None:
    assert '- "retention.ms" = "604800000" -> null  (7d -> default)' in update(
        {"retention.ms": WEEK}, {}
    )


def test_a_created_topic_shows_what_is_declared_and_what_only_the_cluster_will_know() -> None:
    assert (
        '  + resource "kafka_topic" "fresh" {\n'
        '      + name               = "fresh"\n'
        "      + partitions         = 3\n"
        "      + replication_factor = 1\n"
        "      + config             = {\n"
        '          + "retention.bytes" = "1073741824"  (1 GiB)\n'
        "        }\n"
        "      + id                 = (known after apply)\n"
        "    }\n"
    ) in shown(one_of_each())


def test_a_grown_assignment_shows_the_new_partitions_only() -> None:
    held = topic(replica_assignment=((1, 2), (2, 3)), partitions=2, replication_factor=2)
    grown = topic(replica_assignment=((1, 2), (2, 3), (3, 1)))
    live = snapshot([(held, ID)])
    text = shown(make_plan([resource(ORDERS, grown)], state(owned(ORDERS, held, ID)), live))
    assert (
        "      ~ replica_assignment = [\n"
        "          + [3, 1],\n"
        "            # (2 unchanged elements hidden)\n"
        "        ]\n"
    ) in text


def test_acls_stand_in_one_table_per_principal_and_a_swap_is_one_row() -> None:
    text = shown(one_of_each())
    assert (
        "  # kafka_acl: 1 to destroy, 1 to replace, 1 to add (destroys are sent before adds)\n"
        "    User:app\n"
        "      - Allow  Write  Topic orders  from *  kafka_acl.old\n"
        "      ! REVIEW  KP2301 User:app loses this permission\n"
        "        net: -1 ACL\n"
    ) in text
    assert "    -/+ Allow  Read -> Describe  Topic orders  from *  kafka_acl.swap\n" in text
    assert "      + Allow  Read  Topic orders. (prefixed)  from *  kafka_acl.new\n" in text
    assert "        net: +1, -1 ACLs\n" in text


def test_equal_remarks_of_many_acls_are_said_once() -> None:
    held = [owned(f"kafka_acl.a{number}", acl(name=f"t{number}")) for number in range(3)]
    live = snapshot(acls=[acl(name=f"t{number}") for number in range(3)])
    keep = resource(ORDERS, topic())
    text = shown(add_risks(make_plan([keep], state(*held), live)))
    assert text.count("KP2301") == 1
    assert "KP2301 User:app loses this permission (3 ACLs)" in text


def test_a_swap_that_changes_the_principal_names_both() -> None:
    at = "kafka_acl.a"
    plan = make_plan(
        [resource(at, acl("User:new"))],
        state(owned(at, acl("User:old"))),
        snapshot(acls=[acl("User:old")]),
    )
    text = shown(plan)
    assert (
        "    User:new\n    -/+ Allow  Read  Topic orders  from *  kafka_acl.a (was User:old)\n"
        in text
    )
    assert "access gap between delete and add for User:old" in text


def test_a_swapped_deny_is_no_access_gap() -> None:
    at, held = "kafka_acl.a", acl(acl_permission_type="Deny")
    deny = acl(acl_permission_type="Deny", acl_operation="Write")
    plan = make_plan([resource(at, deny)], state(owned(at, held)), snapshot(acls=[held]))
    assert "access gap" not in shown(plan)


def test_ungrouped_acls_have_a_comment_line_each_and_a_swap_shows_what_forces_it() -> None:
    text = shown(one_of_each(), is_grouped=False)
    assert (
        "  # kafka_acl.old will be destroyed\n"
        "  # (because it is not in configuration)\n"
        "  - User:app Allow Write Topic orders from *\n"
    ) in text
    assert (
        "  # kafka_acl.new will be created\n  + User:zoe Allow Read Topic orders. (prefixed)"
        in text
    )
    assert '-/+ resource "kafka_acl" "swap" {\n' in text
    assert (
        '      ~ acl_operation                = "Read" -> "Describe"  # forces replacement\n'
        in text
    )
    assert '        acl_principal                = "User:billing"\n' in text


def test_the_legend_lists_only_symbols_in_use() -> None:
    assert (
        "Symbols:\n"
        "  - destroy\n"
        "-/+ destroy and then create replacement\n"
        "  ~ update in-place\n"
        "  + create\n"
        "  . forget: kplan no longer owns it\n"
        "  ! needs review\n"
    ) in shown(one_of_each())
    created = shown(make_plan([resource(ORDERS, topic())], state(), snapshot()))
    assert "Symbols:\n  + create\n\n" in created


def test_objects_changed_outside_stand_before_the_plan() -> None:
    lost, changed = topic("lost"), topic("audit", config={"retention.ms": "2592000000"})
    plan = make_plan(
        [resource("kafka_topic.lost", lost), resource("kafka_topic.audit", changed)],
        state(owned("kafka_topic.lost", lost, "1"), owned("kafka_topic.audit", changed, "2")),
        snapshot([(topic("audit", config={"retention.ms": WEEK}), "2")]),
    )
    assert (
        "Note: Objects have changed outside of kplan\n"
        "  ~ kafka_topic.audit\n"
        '      ~ config["retention.ms"] = "2592000000" -> "604800000"  (30d -> 7d)\n'
        "  - kafka_topic.lost  (it was deleted outside of kplan)\n"
        "\n"
        "Symbols:\n"
    ) in shown(plan)


def test_a_long_drift_is_cut_with_a_pointer_to_the_whole() -> None:
    names = [f"t{number:02}" for number in range(30)]
    plan = make_plan(
        [resource(f"kafka_topic.{name}", topic(name)) for name in names],
        state(*(owned(f"kafka_topic.{name}", topic(name), "1") for name in names)),
        snapshot(),
    )
    text = shown(plan)
    assert "    and 10 more; kplan drift shows all\n" in text
    assert "- kafka_topic.t19 " in text
    assert "- kafka_topic.t20 " not in text


def test_the_counts_are_terraforms_sentence_and_ours_stand_below() -> None:
    lines = shown(one_of_each()).split("\n")
    place = lines.index("Plan: 3 to add, 1 to change, 3 to destroy.")
    assert lines[place + 1] == (
        "kplan: 2 dangerous, 2 review | destroys kafka_acl.old, kafka_topic.legacy | 1 to adopt "
        "| 1 moved | 1 to forget | access gap between delete and add for User:billing "
        f"| broker dry run: 3 of 3 accepted | checksum {one_of_each().checksum}"
    )


def test_moves_are_summed_up_for_each_broker_and_never_guessed() -> None:
    """K4o-09: in all and net; what could not be read is unknown, not zero."""
    gib = 1 << 30
    known = (
        BrokerTransfer(1, 4 * gib, gib),
        BrokerTransfer(2, 0, 2 * gib),
        BrokerTransfer(3, 700, 0),
    )
    told = shown(replace(one_of_each(), moves=known))
    assert "moves ~4 GiB: broker 1 +3 GiB, broker 2 -2 GiB, broker 3 +700 B |" in told
    others = tuple(replace(each, provider="eu") for each in known[:1])
    assert ", kafka.eu broker 1 +3 GiB" in shown(replace(one_of_each(), moves=(*known, *others)))
    unread = (BrokerTransfer(1, None, None), BrokerTransfer(2, None, None))
    assert "moves UNKNOWN bytes over 2 brokers |" in shown(replace(one_of_each(), moves=unread))


def test_at_most_twenty_deletes_are_named() -> None:
    held = [owned(f"kafka_topic.t{number:02}", topic(f"t{number}"), "1") for number in range(23)]
    live = snapshot([(topic(f"t{number}"), "1") for number in range(23)])
    text = shown(make_plan([resource(ORDERS, topic())], state(*held), live))
    assert "kafka_topic.t19 and 3 more |" in text


@pytest.mark.parametrize("is_grouped", [True, False])
def test_atlantis_finds_its_counts(*, is_grouped: bool) -> None:
    found = ATLANTIS_COUNTS.search(shown(one_of_each(), is_grouped=is_grouped))
    assert found
    assert found.groupdict() == {"imports": None, "add": "3", "change": "1", "destroy": "3"}


def test_tfcmt_finds_every_address() -> None:
    text = shown(one_of_each(), is_grouped=False)
    assert TFCMT_PASS.search(text)
    assert TFCMT_DESTROY.search(text)
    assert not TFCMT_NOTHING.search(text)
    assert not TFCMT_FAIL.search(text)
    assert tfcmt_list("will be created", text) == ["kafka_acl.new", "kafka_topic.fresh"]
    assert tfcmt_list("will be updated in-place", text) == ['kafka_topic.orders["eu"]']
    assert tfcmt_list("will be destroyed", text) == ["kafka_acl.old", "kafka_topic.legacy"]
    assert tfcmt_list("must be replaced", text) == ["kafka_acl.swap"]
    assert tfcmt_list("will be imported", text) == ["kafka_topic.found"]
    assert tfcmt_list("has moved to kafka_topic.after", text) == ["kafka_topic.before"]


def test_nothing_to_do_is_terraforms_sentence() -> None:
    text = shown(nothing())
    assert "\nNo changes. Your infrastructure matches the configuration.\nkplan: checksum " in text
    assert ATLANTIS_NOTHING.search(text)
    assert TFCMT_NOTHING.search(text)
    assert "perform" not in text


def test_an_adoption_alone_changes_nothing_and_is_told() -> None:
    """K4-28."""
    text = shown(make_plan([resource(ORDERS, topic())], state(), snapshot([(topic(), ID)])))
    assert "  # kafka_topic.orders will be imported\n" in text
    assert (
        "\nNo changes. Your infrastructure matches the configuration.\nkplan: 1 to adopt |" in text
    )


def test_an_adopted_object_that_changes_says_so_and_a_moved_one_names_its_old_address() -> None:
    adopted = make_plan([resource(ORDERS, topic(partitions=6))], state(), snapshot([(topic(), ID)]))
    assert (
        "  # (because it already exists on the cluster: it will be adopted and changed)\n"
        in shown(adopted)
    )
    moved = make_plan(
        [resource(ORDERS, topic(partitions=6))],
        state(owned("kafka_topic.was", topic(), ID)),
        snapshot([(topic(), ID)]),
        moved=(("kafka_topic.was", ORDERS),),
    )
    assert "updated in-place\n  # (moved from kafka_topic.was)\n" in shown(moved)


def test_a_kind_that_could_not_be_read_is_never_no_changes() -> None:
    """Design law 2."""
    plan = make_plan(
        [resource("kafka_acl.a", acl())], state(), snapshot(unread={"kafka_acl": "no right"})
    )
    text = shown(plan)
    assert not ATLANTIS_NOTHING.search(text)
    assert "Nothing to do for what could be read." in text
    assert "Note: kafka_acl objects could not be read (no right); nothing is planned" in text
    assert "-target" not in text


def test_a_targeted_plan_says_that_it_is_partial() -> None:
    text = shown(nothing(targets=(ORDERS,)))
    assert "Note: This plan is partial because of -target" in text
    assert ATLANTIS_NOTHING.search(text)


def test_a_plan_with_errors_says_that_it_cannot_be_applied_and_never_no_changes() -> None:
    shrunk = make_plan(
        [resource(ORDERS, topic(partitions=1))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    text = shown(shrunk)
    assert "This plan cannot be applied because of 1 error." in text
    assert not ATLANTIS_NOTHING.search(text)


def test_a_plan_of_errors_alone_has_no_summary() -> None:
    refused = Diagnostic("KP241", Severity.ERROR, "Broker would refuse this change")
    text = shown(replace(nothing(), checksum="", diagnostics=(refused,)))
    assert text.split("\n\n")[1:] == ["This plan cannot be applied because of 1 error.\n"]


def test_a_protected_delete_is_marked_as_refused() -> None:
    plan = make_plan(
        [resource("kafka_topic.other", topic("other"))],
        state(owned(ORDERS, topic(), ID, is_protected=True)),
        snapshot([(topic(), ID)]),
    )
    text = shown(plan)
    assert "  # (protected by prevent_destroy: this is refused)\n" in text
    assert "This plan cannot be applied because of 1 error." in text


def test_output_changes_stand_below_the_counts_as_tools_expect() -> None:
    """What tfcmt reads: a plan is for outputs only when they come first."""
    plan = replace(
        one_of_each(),
        outputs=(
            OutputChange("gone", Action.DELETE, 1, None),
            OutputChange("list", Action.UPDATE, [1, 2, [3]], [1, [4]]),
            OutputChange("names", Action.CREATE, None, ["a", {"k": None}]),
            OutputChange("pw", Action.UPDATE, None, None, is_sensitive=True),
            OutputChange("same", Action.NO_OP, 1, 1),
            OutputChange(
                "tree", Action.UPDATE, {"a": {"b": True}, "c": 2}, {"a": {"b": False}, "c": 2}
            ),
            OutputChange("type", Action.UPDATE, [1], "one"),
        ),
    )
    text = shown(plan)
    assert text.index("Plan: ") < text.index("Changes to Outputs:")
    assert text.endswith(
        "Changes to Outputs:\n"
        "  - gone  = 1 -> null\n"
        "  ~ list  = [\n"
        "      ~ 2 -> [4],\n"
        "      - [3],\n"
        "        # (1 unchanged element hidden)\n"
        "    ]\n"
        "  + names = [\n"
        '      + "a",\n'
        "      + { k = null },\n"
        "    ]\n"
        "  ~ pw    = (sensitive value)\n"
        "  ~ tree  = {\n"
        '      ~ "a" = {\n'
        '          ~ "b" = true -> false\n'
        "        }\n"
        "        # (1 unchanged element hidden)\n"
        "    }\n"
        '  ~ type  = [1] -> "one"\n'
    )


def test_outputs_alone_say_that_nothing_real_changes() -> None:
    text = shown(nothing(outputs={"n": OutputValue(1, "number")}))
    assert "Changes to Outputs:\n  + n = 1\n" in text
    assert re.search(r"You can apply this plan.+without\s+changing\s+any\s+real", text, re.DOTALL)
    assert "Plan:" not in text
    assert not ATLANTIS_NOTHING.search(text)


def test_sensitive_values_are_never_shown() -> None:
    """Design law 11."""
    secret = frozenset({("config", "a.secret")})
    before, after = topic(config={"a.secret": "hunter2"}), topic(config={"a.secret": "hunter3"})
    declared = replace(resource(ORDERS, after), sensitive=secret)
    changed = shown(
        make_plan([declared], state(owned(ORDERS, before, ID)), snapshot([(before, ID)]))
    )
    created = shown(make_plan([declared], state(), snapshot()))
    assert '~ "a.secret" = (sensitive value)\n' in changed
    assert '+ "a.secret" = (sensitive value)\n' in created
    assert "hunter" not in changed + created


def test_a_sensitive_map_hides_its_keys_too() -> None:
    declared = replace(
        resource(ORDERS, topic(config={"k": "v9"})), sensitive=frozenset({("config",)})
    )
    held = topic(config={"k": "v8"})
    text = shown(make_plan([declared], state(owned(ORDERS, held, ID)), snapshot([(held, ID)])))
    assert "      ~ config = (sensitive value)\n" in text
    assert "v8" not in text


def test_colour_is_only_colour() -> None:
    coloured = shown(one_of_each(), colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(one_of_each())
    assert "\x1b[31m-\x1b[0m/\x1b[32m+\x1b[0m \x1b[" not in coloured.split("\n")[0]
    assert "\x1b[1mPlan:\x1b[0m 3 to add" in coloured


def test_the_plain_text_has_no_escape_and_no_trailing_space() -> None:
    text = shown(one_of_each(), unicode=False)
    assert text.isascii()
    assert "\x1b" not in text
    assert all(each == each.rstrip() for each in text.split("\n"))
    assert "\n\n\n" not in text
    assert text.endswith("\n")


def test_words_stand_for_symbols_where_asked() -> None:
    text = shown(one_of_each(), accessible=True)
    assert '    remove: resource "kafka_topic" "legacy" {\n' in text
    assert "        change: partitions = 3 -> 12\n" in text
    assert "caution: DANGEROUS  KP2101" in text


def test_values_from_the_cluster_cannot_steer_the_terminal() -> None:
    text = update({"k": "a\x1b[2J"}, {"k": 'b\u202e"\n${x}'})
    assert '"a\\u001b[2J" -> "b\\u202e\\"\\n$${x}"' in text


def test_notes_of_a_safe_change_are_comments() -> None:
    plan = make_plan([resource(ORDERS, topic())], state(), snapshot())
    noted = replace(plan, changes=(replace(plan.changes[0], notes=("partitions = 1 is default",)),))
    assert "    }\n      # partitions = 1 is default\n" in shown(noted)
    unsure = replace(plan, changes=(replace(plan.changes[0], risk=Risk.UNKNOWN),))
    assert "    ! UNKNOWN\n" in shown(unsure)
    assert "kplan: 1 unknown |" in shown(unsure)


def test_equal_plans_give_equal_text_whatever_the_order_of_their_changes() -> None:
    plan = one_of_each()
    assert shown(replace(plan, changes=tuple(reversed(plan.changes)))) == shown(plan)


def test_a_refused_dry_run_is_counted() -> None:
    plan = replace(nothing(), cluster={"asked": "4", "refused": "1"})
    refused = Diagnostic("KP241", Severity.ERROR, "Broker would refuse this change")
    assert "broker dry run: 3 of 4 accepted" in shown(replace(plan, diagnostics=(refused,)))


def test_addresses_of_modules_are_shown_whole() -> None:
    at = 'module.pay["eu"].kafka_topic.orders'
    text = shown(make_plan([resource(at, topic())], state(), snapshot()))
    assert f"# {at} will be created" in text
    assert address(at).module == ('pay["eu"]',)


def many_plan(count: int, *, odd: bool = False) -> Plan:
    """Shorten the retention of topics, one of them by another time, and create some."""
    names = [f"t{number:04}" for number in range(count)]
    held = [
        owned(f"kafka_topic.{each}", topic(each, config={"retention.ms": WEEK}), each)
        for each in names
    ]
    live = snapshot([(topic(each, config={"retention.ms": WEEK}), each) for each in names])
    wanted = [
        resource(f"kafka_topic.{each}", topic(each, config={"retention.ms": DAY})) for each in names
    ]
    if odd:
        wanted[3] = resource("kafka_topic.t0003", topic("t0003", config={"retention.ms": "5"}))
    return add_risks(make_plan(wanted, state(*held), live))


def test_what_is_done_to_many_alike_is_said_once_with_names() -> None:
    text = plan_text(many_plan(1500, odd=True), PLAIN_STYLE)
    assert "# kafka_topic: 1,499 will be updated in-place" in text
    assert text.count('"retention.ms"') == 2, "once for all, and once for the odd one"
    assert "kafka_topic.t0000, kafka_topic.t0001" in text
    assert "and 1,479 more" in text
    assert "# kafka_topic.t0003 will be updated in-place" in text
    assert "0 to add, 1500 to change, 0 to destroy" in text
    each = plan_text(many_plan(30), PLAIN_STYLE, is_grouped=False)
    assert each.count("will be updated in-place") == 30


def impact_key(change: Change) -> tuple[str, str, str]:
    return change.kind, str(change.identity), change.provider


def test_topics_whose_records_expire_alike_are_said_once_with_the_evidence_about_all() -> None:
    """A real plan reads what is in each topic; the numbers differ, what is done does not."""
    plan, used = many_plan(30), 12
    impacts = {
        impact_key(each): Impact(
            10 * number, 100 * number, 5_500 + number, (GroupImpact("g", True),), 1
        )
        if 0 < number <= used
        else Impact(0, 0, None, (), 0)
        for number, each in enumerate(plan.changes)
    }
    text = plan_text(add_impacts(plan, impacts), PLAIN_STYLE)
    assert "# kafka_topic: 12 will be updated in-place" in text
    assert "# kafka_topic: 18 will be updated in-place" in text
    assert "kafka_topic.t0012 (120 records), kafka_topic.t0011 (110 records)" in text
    assert "KP2104 780 records, 7,800 bytes in 12 topics, the newest 5s old" in text
    assert "KP2105 groups: g\n" in text
    assert "lately: 12" in text
    assert text.count("KP2103") == 1


def test_a_sum_of_which_a_part_is_not_known_is_unknown() -> None:
    plan = many_plan(6)
    impacts = {impact_key(each): Impact(10, 100, 5_000, (), 0) for each in plan.changes}
    impacts[impact_key(plan.changes[0])] = Impact(None, 100, None, None, None, ("no permission",))
    text = plan_text(add_impacts(plan, impacts), PLAIN_STYLE)
    assert "KP2104 UNKNOWN records, 600 bytes in 6 topics" in text
    assert "KP2105 which groups read them is UNKNOWN" in text
    assert "KP2107 not read: no permission" in text


def test_a_plan_to_destroy_without_a_state_says_first_that_there_is_none() -> None:
    text = shown(make_plan([], replace(state(), serial=0), snapshot(), is_destroy=True))
    first = text.index("No state found: kplan owns nothing here and will delete nothing.")
    assert first < text.index("No changes.")
    assert "its objects stay: take them over with kplan import" in " ".join(text.split())


def test_few_that_are_alike_are_shown_each() -> None:
    assert plan_text(many_plan(4), PLAIN_STYLE).count("will be updated in-place") == 4


def test_an_instance_that_its_block_does_not_declare_is_explained_as_terraform_does() -> None:
    gone = {
        'kafka_topic.each["b"]': '(because key ["b"] is not in for_each map)',
        "kafka_topic.count[1]": "(because index [1] is out of range for count)",
        "kafka_topic.each[0]": "(because resource does not use count)",
        'kafka_topic.count["a"]': "(because resource does not use for_each)",
        "kafka_topic.count": "(because resource uses count or for_each)",
        'kafka_topic.none["x"]': "(because it is not in configuration)",
    }
    plan = make_plan(
        [
            resource('kafka_topic.each["a"]', topic("a")),
            resource("kafka_topic.count[0]", topic("c")),
        ],
        state(*(owned(at, topic(f"t{n}"), at) for n, at in enumerate(gone))),
        snapshot([(topic(f"t{n}"), at) for n, at in enumerate(gone)]),
        max_deletes=10,
    )
    told = plan_text(plan, PLAIN_STYLE)
    for at, reason in gone.items():
        assert f"# {at} will be destroyed\n  # {reason}\n" in told
