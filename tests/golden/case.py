"""A golden case: a folder with a configuration, a state and a live cluster.

    main.hcl      what is declared
    state.json    {"serial", "owned": [{"address", "value", "uid", "protected"}], "outputs"};
                  a `uid` of "live" is the id of the live topic of that name
    live.json     {"topics": [...], "acls": [...], "quotas": [...], "users": [...],
                  "configs": [{"resource": [scope, name], "set"}], "hidden": [...],
                  "denied": [[op, type]], "authorizer", "brokers"}; in the words of
                  `cluster/specs.py` and `cluster/setting_specs.py`
    run.json      {"targets", "destroy", "is_grouped"}; all of them optional

All but main.hcl may be missing. Adding a case is adding a folder and running
`pytest tests/golden --update-golden`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, NewTopic
from kplan.cluster.settings import (
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
)
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS
from kplan.kinds.schema import from_document
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError
from kplan.model.plan import Plan
from kplan.model.state import OutputValue, OwnedObject, State
from kplan.state.file import write_state
from kplan.workflow.plan.plan import make_plan
from kplan.workflow.ports import PlanOptions, Ports, Project
from tests.apply_harness import FakeClock
from tests.values import CLUSTER_ID, LINEAGE

CASES = Path(__file__).parent / "cases"
NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a case; a configuration with errors gives no plan."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]
    is_grouped: bool


class Silence:
    """Progress that nobody watches."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Hear of a stage."""

    def advance(self, done: int = 1) -> None:
        """Hear of progress."""

    def note(self, text: str) -> None:
        """Hear a line."""


def told(case: Path, scratch: Path) -> Told:
    """Plan a case as the command does, against a cluster in memory."""
    live, run = _read(case / "live.json"), _read(case / "run.json")
    cluster = _cluster(live)
    state_path = scratch / "kplan.state"
    write_state(state_path, _state(_read(case / "state.json"), cluster))
    project = Project(case, state_path, Inputs())
    options = PlanOptions(tuple(run.get("targets", ())), is_destroy=run.get("destroy", False))
    ports = Ports(lambda *_: cluster, Silence(), FakeClock(), lambda: NOW, lambda: False)
    is_grouped = run.get("is_grouped", True)
    try:
        made = make_plan(project, options, ports)
    except ConfigError as invalid:
        return Told(None, invalid.diagnostics, invalid.sources, is_grouped)
    return Told(made.plan, made.plan.all_diagnostics, made.configuration.sources, is_grouped)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _cluster(live: Mapping[str, Any]) -> MemoryCluster:
    cluster = MemoryCluster(live.get("brokers", 3))
    cluster.seed(
        [NewTopic(**_assigned(each)) for each in live.get("topics", ())],
        [AclBinding(**each) for each in live.get("acls", ())],
    )
    cluster.seed_settings(
        [
            QuotaAlteration(QuotaEntity(**each["entity"]), each["set"])
            for each in live.get("quotas", ())
        ],
        [
            ScramAlteration(ScramUser(*each["name"]), each["iterations"], "unknown")
            for each in live.get("users", ())
        ],
        [
            ConfigResourceAlteration(ConfigResource(ConfigScope[scope], name), each["set"])
            for each in live.get("configs", ())
            for scope, name in (each["resource"],)
        ],
    )
    for name in live.get("hidden", ()):
        cluster.hide_topic(name)
    for operation, resource_type in live.get("denied", ()):
        cluster.deny_operation(operation, resource_type)
    if not live.get("authorizer", True):
        cluster.disable_authorizer()
    return cluster


def _assigned(topic: Mapping[str, Any]) -> dict[str, Any]:
    assignment = topic.get("assignment")
    return {
        **topic,
        "assignment": assignment and tuple(tuple(replicas) for replicas in assignment),
    }


def _state(found: Mapping[str, Any], cluster: MemoryCluster) -> State:
    ids = {name: each.topic_id for name, each in cluster.connect_as().topics().items()}  # type: ignore[union-attr] # nothing is refused to another admin
    kinds = {kind.name: kind for kind in KINDS}
    owned: dict[Address, OwnedObject] = {}
    for each in found.get("owned", ()):
        address = Address.parse(each["address"])
        kind = kinds[address.kind]
        value = from_document(kind.schema, each["value"])
        uid = each.get("uid", "")
        owned[address] = OwnedObject(
            address,
            kind.identify(value),
            value,
            uid=ids[each["value"]["name"]] if uid == "live" else uid,
            is_protected=each.get("protected", False),
        )
    outputs = {name: OutputValue(**each) for name, each in found.get("outputs", {}).items()}
    return State(LINEAGE, found.get("serial", 0), CLUSTER_ID if found else "", owned, outputs)
