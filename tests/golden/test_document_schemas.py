"""What kplan writes for programs is what its JSON Schemas say, and they only ever grow."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ConfigAlteration, NewTopic
from kplan.config.policies.policy import fact_values
from kplan.fleet import access, inventory, plan, policy, snapshot, tables
from kplan.fleet.insight.anomalies import ANOMALY_SCHEMA
from kplan.fleet.insight.costs import COST_SCHEMA
from kplan.fleet.insight.trends import TREND_SCHEMA
from kplan.fleet.logs import audit_topic, requests
from kplan.kinds import KINDS
from kplan.model.plan import Replay
from kplan.model.policy import Question, UnknownFactError
from kplan.model.resource import Identity
from kplan.model.table import Figures, FigureTable
from kplan.policy import engine
from kplan.policy.engine import QuestionContext
from kplan.policy.facts import ClusterFacts
from kplan.report import views
from kplan.report.contract import DOCUMENTS, document_schema
from kplan.workflow.snapshot import read_snapshot
from tests.document_schemas import FROZEN, faults
from tests.golden.case import CASES
from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

ROOT = Path(__file__).parents[2]
PLANS = sorted(CASES.glob("*/plan.json"))
STREAMS = sorted((ROOT / "tests" / "golden" / "formats").glob("*.ndjson"))
STATES = sorted((ROOT / "tests" / "unit" / "state" / "fixtures").glob("*state*.json"))
SCHEMAS = ROOT / "kplan" / "report" / "schemas"


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


Json = dict[str, Any]


def lines(text: str) -> list[Any]:
    return [json.loads(each) for each in text.splitlines()]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_is_one_and_the_command_writes_it(name: str, desk: MemoryCommand) -> None:
    written = desk.run("schema", f"-document={name}")
    assert written == (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    schema = json.loads(written)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {each.stem for each in SCHEMAS.glob("*")} == DOCUMENTS.keys()


def test_an_unknown_document_is_named_with_the_known_ones(desk: MemoryCommand) -> None:
    assert "-document=plans is not one of plan, outcomes," in desk.run_failing(
        "schema", "-document=plans"
    )
    desk.run_failing("schema", "-document=plan", "-json")


def test_every_golden_plan_is_described_to_the_last_key() -> None:
    assert len(PLANS) > 30
    found = {each.parent.name: faults("plan", json.loads(each.read_text())) for each in PLANS}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_every_golden_stream_is_described() -> None:
    found = [
        fault
        for file in STREAMS
        for each in lines(file.read_text())
        for fault in faults("stream", each)
    ]
    assert STREAMS
    assert found == []


def test_every_frozen_state_is_described() -> None:
    assert STATES
    assert {each.name: faults("state", json.loads(each.read_text())) for each in STATES} == {
        each.name: [] for each in STATES
    }


def test_a_document_that_lacks_or_mistakes_something_is_refused() -> None:
    found = json.loads((CASES / "mixed" / "plan.json").read_text())
    validator = Draft202012Validator(json.loads(document_schema("plan")))
    assert validator.is_valid({**found, "new_in_a_later_version": 1})
    assert not validator.is_valid({**found, "applyable": "yes"})
    assert not validator.is_valid({key: each for key, each in found.items() if key != "kplan"})
    found["resource_changes"][0]["kplan"]["unheard_of"] = 1
    assert len(faults("plan", found)) == 1


def test_what_a_run_writes_is_described(desk: MemoryCommand) -> None:
    desk.cluster.deny_operation("CREATE", "TOPIC", "payments")
    stream = lines(desk.run("plan", "-no-broker-validate", "-json"))
    stream += lines(
        desk.run("apply", "-no-broker-validate", "-auto-approve", "-json",
                 "-report=json=outcomes.json", "-report=ndjson=stream.ndjson", code=1)
    )  # fmt: skip
    stream += lines((desk.folder / "stream.ndjson").read_text())
    sorts = "version plan planned_change change_summary outputs apply_start apply_complete"
    assert {*sorts.split(), "apply_errored", "apply_item"} <= {each["type"] for each in stream}
    assert [fault for each in stream for fault in faults("stream", each)] == []
    plans = [each for each in stream if each["type"] == "plan"]
    head = {"@level", "@message", "@module", "@timestamp", "type"}
    for each in plans:
        assert faults("plan", {key: each[key] for key in each.keys() - head}) == []
    assert faults("outcomes", json.loads((desk.folder / "outcomes.json").read_text())) == []
    assert faults("state", json.loads((desk.folder / "state" / "kplan.json").read_text())) == []
    desk.cluster.connect_as().alter_topic_configs(
        [ConfigAlteration("orders", {"retention.ms": "60000"})]
    )
    drift = json.loads(desk.run("drift", "-json", "-health", code=2))
    assert drift["drifted"]
    assert faults("drift", drift) == []


def test_what_validate_writes_is_described(desk: MemoryCommand) -> None:
    assert faults("diagnostics", json.loads(desk.run("validate", "-json"))) == []
    desk.write(MAIN_TF + 'resource "kafka_topic" "u" { nam = local.none }\n')
    found = json.loads(desk.run("validate", "-json", code=1))
    assert found["error_count"]
    assert faults("diagnostics", found) == []


def test_the_facts_of_a_policy_are_described(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Question] = []
    ask = engine._question

    def remember(*given: Any) -> Question:  # noqa: ANN401 - as it is called
        heard.append(ask(*given))
        return heard[-1]

    monkeypatch.setattr(engine, "_question", remember)
    policy = """
policy "few" {
  on   = ["create", "alter", "delete"]
  deny {
    condition = length(cluster.topics) > 100
    message   = "too many"
  }
}
"""
    desk.write(MAIN_TF + policy)
    desk.run("apply", "-auto-approve")
    desk.write(MAIN_TF.replace("payments = 6", "").replace("86400000", "1000") + policy)
    desk.run("plan")
    assert {each.operation.value for each in heard} == {"create", "alter", "delete"}
    for each in heard:
        assert faults("policy", _policy_facts(each)) == []


def _policy_facts(asked: Question) -> Mapping[str, object]:
    cluster: dict[str, Any] = {}
    for name in asked.cluster:
        try:
            cluster[name] = asked.cluster[name]
        except UnknownFactError:  # kinds that nobody declares were not read
            assert name.startswith("kafka_"), name
    found: dict[str, Any] = {**fact_values(asked), "cluster": cluster}
    document: Mapping[str, object] = json.loads(json.dumps(found))
    return document


def test_the_facts_of_a_deletion_of_records_are_described() -> None:
    broker = MemoryCluster()
    broker.seed([NewTopic("a", 2, 1)])
    wanted = {"kafka_topic": {Identity("a")}, "kafka_acl": {Identity("a")}}
    snapshot = read_snapshot(broker, broker.describe(), KINDS, wanted)
    replay = {**asdict(Replay(None, 2, 9, "2026-01-01")), "principals": {"User:a": 1}}
    facts = ClusterFacts(snapshot, ("kafka_topic",))
    context = QuestionContext(snapshot, KINDS, facts, "User:a", {"name": "GitHub"}, replay)
    asked = engine.records_question(Identity("a"), {0: 100}, context)
    found = _policy_facts(replace(asked, replay=replay))
    assert faults("policy", found) == []
    assert found["change"] == {
        "operation": "delete_records", "kind": "kafka_topic", "identity": "a",
        "offsets": {"0": 100},
    }  # fmt: skip
    assert isinstance(found["ci"], dict)
    assert {key: each for key, each in found["ci"].items() if each} == {"name": "GitHub"}
    assert found["plan"] == {"replay": replay}


FIGURES = Figures(
    "Inventory",
    (FigureTable("inventory", ("group", "topics"), (("eu", 1),)),),
    {"run": "monday"},
)


def test_figures_of_a_fleet_are_described() -> None:
    assert faults("figures", json.loads(views.figures_json(FIGURES))) == []


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("objects", snapshot.STORED_SCHEMA),
        ("runs", tables.RUN_SCHEMA),
        ("audit", requests.AUDIT_SCHEMA),
        ("offsets", audit_topic.OFFSET_SCHEMA),
        ("findings", plan.FINDING_SCHEMA),
        ("violations", policy.VIOLATION_SCHEMA),
        ("owners", inventory.OWNER_SCHEMA),
        ("who_can", access.WHO_CAN_SCHEMA),
        ("costs", COST_SCHEMA),
        ("trends", TREND_SCHEMA),
        ("anomalies", ANOMALY_SCHEMA),
    ],
)
def test_a_table_of_a_fleet_has_the_columns_of_its_schema(table: str, columns: str) -> None:
    """Spark's words for types, and JSON's."""
    words = {"string": "string", "timestamp": "string", "long": "integer", "int": "integer",
             "boolean": "boolean", "map<string,string>": "object", "double": "number",
             "decimal(38,4)": "string",
             "array<struct<kinds:array<string>,clusters:array<string>>>": "array"}  # fmt: skip
    wanted = {name: words[word] for name, word in (each.split() for each in columns.split(", "))}
    schema = json.loads(document_schema("tables"))["$defs"][table]
    assert {name: each["type"][0] for name, each in schema["properties"].items()} == wanted


def test_tools_read_the_schemas_as_they_are(tmp_path: Path) -> None:
    """As a pipeline does it: check-jsonschema with the file that kplan wrote."""
    command = [sys.executable, "-m", "check_jsonschema"]
    schemas = [str(each) for each in sorted(SCHEMAS.glob("*.json"))]
    subprocess.run([*command, "--check-metaschema", *schemas], check=True, cwd=tmp_path)
    (of_plans,) = (each for each in schemas if each.endswith("/plan.json"))
    subprocess.run([*command, "--schemafile", of_plans, *map(str, PLANS)], check=True, cwd=tmp_path)


# ---- additions only


def removals(old: Json, new: Json, path: str = "$") -> Iterator[str]:
    """List what a reader of the old schema could rely on, and not on the new one."""
    for key in ("type", "const", "pattern", "$ref", "format"):
        if key in old and old[key] != new.get(key):
            yield f"{path}: {key} was {old[key]} and is {new.get(key)}"
    if lost := set(old.get("required", ())) - set(new.get("required", ())):
        yield f"{path}: {', '.join(sorted(lost))} may be missing now"
    if gone := set(map(str, old.get("enum", ()))) - set(map(str, new.get("enum", ()))):
        yield f"{path}: {', '.join(sorted(gone))} is no value any more"
    others = dict(_parts(new))
    for name, each in _parts(old):
        if name not in others:
            yield f"{path}.{name} is gone"
        else:
            yield from removals(each, others[name], f"{path}.{name}")


def _parts(schema: Json) -> Iterator[tuple[str, Json]]:
    """List the schemas in a schema, by name."""
    for group in ("properties", "$defs"):
        for name, each in schema.get(group, {}).items():
            yield f"{group}.{name}", each
    for key in ("items", "additionalProperties", "if", "then"):
        if isinstance(schema.get(key), dict):
            yield key, schema[key]
    for key in ("anyOf", "allOf"):
        for place, each in enumerate(schema.get(key, ())):
            yield f"{key}[{place}]", each


@pytest.mark.parametrize(
    "file", sorted(FROZEN.glob("*/*.json")), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_a_schema_has_all_that_it_ever_had(file: Path) -> None:
    """Within a major version schemas are only added to; frozen copies are never edited."""
    schema = json.loads(document_schema(file.stem))
    assert list(removals(json.loads(file.read_text(encoding="utf-8")), schema)) == []


def test_every_schema_has_a_frozen_copy() -> None:
    assert {each.stem for each in (FROZEN / "1").glob("*.json")} == DOCUMENTS.keys()


def test_a_removal_is_found_and_an_addition_is_not() -> None:
    old = json.loads(document_schema("plan"))
    new = json.loads(document_schema("plan"))
    new["properties"]["more"] = {"type": "string"}
    new["$defs"]["diagnostic"]["properties"]["severity"]["enum"].append("note")
    new["required"].append("more")
    assert list(removals(old, new)) == []
    del new["$defs"]["change_facts"]["properties"]["risk"]
    new["$defs"]["change_facts"]["required"].remove("risk")
    new["$defs"]["impact"]["required"].remove("records")
    new["properties"]["complete"]["type"] = "string"
    assert list(removals(old, new)) == [
        "$.properties.complete: type was boolean and is string",
        "$.$defs.change_facts: risk may be missing now",
        "$.$defs.change_facts.properties.risk is gone",
        "$.$defs.impact: records may be missing now",
    ]
