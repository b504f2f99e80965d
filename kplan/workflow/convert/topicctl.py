"""Reader of topicctl's files: topics with placements, ACLs, users, and clusters."""

import re
from collections.abc import Mapping, Sequence

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.yaml_document import YamlNode
from kplan.kinds.placement import BALANCED_LEADERS, IN_RACK, RACK_AWARE, STATIC
from kplan.kinds.topic_rules import Topic
from kplan.workflow.convert.conversion import AclGrant, Conversion, read_notes

_STRATEGIES: Mapping[str, str] = {
    "any": "",
    "balanced-leaders": BALANCED_LEADERS,
    "cross-rack": RACK_AWARE,
    "in-rack": IN_RACK,
    "static": STATIC,
}
"""topicctl's placement strategies as kplan names them; `any` declares none."""

_NOTES = ("description", "labels", "consumers")
_RETENTION = "retention.ms"
_MS_PER_MINUTE = 60_000
_GO_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNIT_MS: Mapping[str, int] = {"h": 3_600_000, "m": _MS_PER_MINUTE, "s": 1000, "ms": 1}

_CONNECTION_REASON = 'the connection is declared in provider "kafka", or comes from the environment'
_CLUSTER_REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("bootstrapAddrs", "tls", "sasl", "readOnlyEnabled", "zkAddrs", "zkPrefix"),
        _CONNECTION_REASON,
    ),
    "zkLockPath": "kplan locks its state; kplan help tutorial",
    "clusterID": "kplan records the id of the cluster in its state, and refuses another one",
    "versionMajor": "kplan asks the cluster for its version",
    "defaultThrottleMB": "set the throttle of an apply with -throttle=20M",
}
_MIGRATION_REASON = "set it for an apply with -throttle=20M and -move-batch=50"
_MIGRATION_KEYS = ("throttleMB", "partitionBatchSize")


def read_topicctl(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read files of topicctl; the type of a file follows from its spec."""
    clusters: set[tuple[str, ...]] = set()
    for document in documents:
        with conversion.collect_problems():
            _report_cluster_of(document, clusters, conversion)
            spec = document.get("spec")
            keys = set(spec.key_names)
            if keys & {"bootstrapAddrs", "zkAddrs"}:
                _read_cluster(document, conversion)
            elif keys & {"authentication", "authorization", "mechanism", "password"}:
                _read_user(document, conversion)
            elif "acls" in keys:
                _read_acls(spec, "", read_notes(document.get("meta"), "name", *_NOTES), conversion)
            else:
                _read_topic(document, conversion)


def _report_cluster_of(
    document: YamlNode, known: set[tuple[str, ...]], conversion: Conversion
) -> None:
    """Report the cluster that a file is for, once for each: its connection decides that here."""
    meta = document.get("meta")
    keys = ("cluster", "environment", "region")
    named = tuple(meta.get(each).text("") for each in keys)
    if "cluster" not in meta.key_names or named in known:
        return
    known.add(named)
    shown = ", ".join(each for each in named if each)
    text = 'the connection decides; give it this name with provider "kafka" { name = ... }'
    if len(known) > 1:
        text = "another cluster; convert its files to a folder of their own"
    conversion.skip(meta.get("cluster"), f"meta.cluster {shown}", text)


def _read_topic(document: YamlNode, conversion: Conversion) -> None:
    meta, spec = document.get("meta"), document.get("spec")
    name = meta.get("name").text()
    settings = spec.get("settings").members()
    own = {}
    minutes = spec.get("retentionMinutes").number()
    if minutes and _RETENTION in settings and settings[_RETENTION].content is not None:
        text = "retention.ms of the settings is kept; topicctl refuses a topic with both"
        conversion.skip(spec.get("retentionMinutes"), f"retentionMinutes of topic {name}", text)
    elif minutes:
        own[_RETENTION] = str(minutes * _MS_PER_MINUTE)
    partitions, factor = (
        conversion.read_count(spec.get(each)) for each in ("partitions", "replicationFactor")
    )
    strategy = _read_strategy(name, spec.get("placement"), conversion)
    placement = {"strategy": strategy} if strategy else None
    topic = Topic(name, partitions, factor, None, own, placement)
    if strategy == STATIC:
        rows = spec.get("placement", "staticAssignments").items()
        brokers = tuple(tuple(_broker_id(each) for each in row.items()) for row in rows)
        topic = Topic(name, None, None, brokers, own, placement)
    conversion.add_topic(topic, settings, document.source_range, read_notes(meta, *_NOTES))
    reasons = dict.fromkeys(_MIGRATION_KEYS, _MIGRATION_REASON)
    conversion.skip_members(spec.get("migration"), reasons, f"topic {name}")


def _broker_id(part: YamlNode) -> int:
    found = part.number()
    if found is None:
        raise EvaluationError([error("KP181", part.source_range, "Here belongs a broker id.")])
    return found


def _read_strategy(name: str, placement: YamlNode, conversion: Conversion) -> str:
    """Return kplan's name of a placement strategy, "" where it has none like it."""
    text = "kplan takes the broker with the fewest replicas"
    conversion.skip_members(placement, {"picker": text}, f"topic {name}")
    strategy = placement.get("strategy")
    written = strategy.text("any")
    if written in _STRATEGIES:
        return _STRATEGIES[written]
    text = f"kplan has no such strategy: {', '.join(_STRATEGIES)}"
    if written == "static-in-rack":
        text = "kplan takes brokers, not racks: name them in replica_assignment"
        conversion.skip_members(placement, {"staticRackAssignments": text}, f"topic {name}")
    conversion.skip(strategy, f"placement strategy {written} of topic {name}", text)
    return ""


def _read_user(document: YamlNode, conversion: Conversion) -> None:
    """Read a user: the ACLs are for `User:` with the name, whatever their principal is."""
    meta, spec = document.get("meta"), document.get("spec")
    name = spec.get("name").text(meta.get("name").text())
    notes = read_notes(meta, *_NOTES)
    text = "secrets are not carried over; declare a kafka_user_scram_credential"
    reasons = dict.fromkeys(("authentication", "mechanism", "password", "iterations"), text)
    conversion.skip_members(spec, reasons, f"user {name}")
    authorization = spec.get("authorization")
    authorization.get("type")
    _read_acls(authorization, f"User:{name}", notes, conversion)
    if notes and not authorization.get("acls").items():
        text = "there is no block that it could stand above"
        conversion.skip_members(meta, dict.fromkeys(_NOTES, text), f"user {name}")


def _read_acls(spec: YamlNode, owner: str, notes: tuple[str, ...], conversion: Conversion) -> None:
    for rule in spec.get("acls").items():
        with conversion.collect_problems():
            resource = rule.get("resource")
            written = resource.get("principal")
            to = AclGrant(
                owner or written.text(),
                rule.source_range,
                resource.get("host").text("*"),
                resource.get("permission").text("allow"),
                notes,
            )
            sort, pattern = resource.get("type").text(), resource.get("patternType").text("literal")
            name = resource.get("name").text("kafka-cluster" if sort == "cluster" else None)
            for operation in rule.get("operations").texts():
                conversion.add_acl(to, sort, name, operation, pattern)


def _read_cluster(document: YamlNode, conversion: Conversion) -> None:
    """Read a cluster: its retention step becomes a policy, the rest is about the connection."""
    meta, spec = document.get("meta"), document.get("spec")
    name = meta.get("name").text("")
    conversion.skip_members(spec, _CLUSTER_REASONS, f"cluster {name}")
    text = 'name the connection with provider "kafka" { name = ... }'
    keys = ("environment", "region", "shard", "description", "labels")
    conversion.skip_members(meta, dict.fromkeys(keys, text), f"cluster {name}")
    step = spec.get("defaultRetentionDropStepDuration")
    if step.text(""):
        conversion.add_block(_retention_policy(step.text(), _duration_ms(step)))


def _duration_ms(part: YamlNode) -> int:
    """Read a duration as Go writes it: `1h30m`."""
    text = part.text()
    units = _GO_DURATION.findall(text)
    if not units or "".join(number + unit for number, unit in units) != text:
        detail = f'Here belongs a duration such as "6h" or "1h30m", and there is "{text}".'
        raise EvaluationError([error("KP181", part.source_range, detail)])
    return round(sum(float(number) * _UNIT_MS[unit] for number, unit in units))


def _retention_policy(shown: str, step: int) -> str:
    """Write the policy that refuses to cut retention by more than a step at a time.

    topicctl goes as far as the step allows; a plan that others read is not rewritten, but refused.
    """
    return f"""policy "retention_step" {{
on = ["alter"]
kind = "kafka_topic"
level = "soft"
when = can(current.config["retention.ms"]) && can(requested.config["retention.ms"])

deny {{
condition = tonumber(current.config["retention.ms"]) - tonumber(requested.config["retention.ms"]) > {step}
message = "retention.ms falls from ${{current.config["retention.ms"]}} to ${{requested.config["retention.ms"]}}, more than {shown} at once"
fix = "Lower it in steps of at most {step} ms, each with an apply of its own."
}}
}}
"""  # noqa: E501 - an argument of HCL is on one line
