"""The campaign: edited inputs of every sort, and what no input may bring about.

`poe fuzz` runs 5,000 of them with a seed that is new each time (`--hypothesis-seed` repeats one);
the tests run some with a seed that stays. Hypothesis shrinks what fails to few edits.
"""

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kplan.cli.app import VERBS
from kplan.config.fleet_file import load_fleet
from kplan.config.inputs import Inputs
from kplan.model.errors import KplanError
from tests.fuzz.commands import (
    MAIN,
    Case,
    Files,
    check,
    read_plan_members,
    repair_plan,
    working_folder,
)
from tests.fuzz.mutation import (
    TOKENS,
    DocumentEdits,
    TextEdits,
    document_edits,
    edit_document,
    edit_text,
    text_edits,
)
from tests.unit.workflow.convert.test_convert import ALL as YAML_SAMPLES

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "unit" / "state" / "fixtures"
INPUTS = int(os.environ.get("FUZZ_INPUTS", "0"))
IS_CAMPAIGN = INPUTS > 0
SEEDS = [
    MAIN.encode(),
    *(each.read_bytes() for each in sorted((ROOT / "examples").rglob("*.tf"))),
    *(each.read_bytes() for each in sorted((ROOT / "examples").rglob("*.hcl"))),
    *(each.read_bytes() for each in sorted((ROOT / "modules").rglob("*.tf"))),
]
FLEET = next((ROOT / "examples" / "fleet").rglob("fleet.hcl")).read_bytes()
PROPERTIES = b"""bootstrap.servers=127.0.0.1:1
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="admin" password="secret";
ssl.truststore.type=PEM
ssl.truststore.location=ca.pem
request.timeout.ms=1000
"""
TFVARS = b'names = { orders = 3, "pay.ments" = 6 }\nother = [1, "two", { three = null }]\n'
TF_JSON = json.dumps(
    {
        "variable": {"n": {"type": "number", "default": 3}},
        "locals": {"x": "${var.n + 1}"},
        "resource": {
            "kafka_topic": {
                "t": {
                    "name": "orders",
                    "partitions": "${local.x}",
                    "config": {"retention.ms": "${var.n * 1000}"},
                    "lifecycle": {"prevent_destroy": True},
                }
            }
        },
        "output": {"o": {"value": "${kafka_topic.t.name}"}},
    }
).encode()
STATE = frozenset({"state"})


@cache
def worked() -> Files:
    return working_folder()


def configured(text: bytes, *args: str, name: str = "main.tf", **more: bytes) -> Case:
    return Case({name: text, **more}, args)


texts = st.tuples(st.integers(0, len(SEEDS) - 1), text_edits)


def configuration(drawn: tuple[int, TextEdits], verb: str) -> Case:
    seed, edits = drawn
    return configured(edit_text(SEEDS[seed], edits), *verb.split())


def variables(edits: TextEdits) -> Case:
    files = {"main.tf": MAIN.encode(), "x.tfvars": edit_text(TFVARS, edits)}
    return Case(files, ("validate", "-var-file=x.tfvars"))


def json_configuration(drawn: tuple[TextEdits, DocumentEdits, bool]) -> Case:
    edits, changes, is_text = drawn
    text = edit_text(TF_JSON, edits) if is_text else edit_document(TF_JSON, changes)
    return configured(text, "plan", name="main.tf.json")


def converted(drawn: tuple[int, TextEdits]) -> Case:
    sample, edits = drawn
    text = list(YAML_SAMPLES.values())[sample].encode()
    files = {"x.yaml": edit_text(text, edits)}
    return Case(files, ("convert", "x.yaml", "-out=out.tf"), writes=frozenset({"out.tf"}))


def stated(drawn: tuple[str, TextEdits, DocumentEdits, bool]) -> Case:
    verb, edits, changes, is_text = drawn
    text = worked()["state/kplan.json"]
    state = edit_text(text, edits) if is_text else edit_document(text, changes)
    files = {**worked(), "state/kplan.json": state}
    return Case(files, verb.split(), writes=STATE)


def planned(drawn: tuple[str, str, TextEdits, DocumentEdits, bool]) -> Case:
    verb, member, edits, changes, is_text = drawn
    members = read_plan_members(worked()["p.kplan"])
    text = members[member]
    members[member] = edit_text(text, edits) if is_text else edit_document(text, changes)
    try:
        archive = repair_plan(members)
    except (ValueError, TypeError, AttributeError):  # meta.json is no object any more
        archive = edit_text(worked()["p.kplan"], edits)
    files = {**worked(), "p.kplan": archive}
    return Case(files, (*verb.split(), "p.kplan"), writes=STATE)


def journalled(drawn: tuple[int, TextEdits]) -> Case:
    which, edits = drawn
    journal = edit_text((FIXTURES / f"journal-{which}.journal").read_bytes(), edits)
    files = {**worked(), "state/kplan.json.journal": journal}
    return Case(files, ("apply", "-resume", "-auto-approve"), writes=STATE)


def connected(edits: TextEdits) -> Case:
    files = {"c.properties": edit_text(PROPERTIES, edits), "ca.pem": b"no certificate"}
    environ = {"KPLAN_COMMAND_CONFIG": "c.properties"}
    return Case(files, ("topics", "list"), is_connected=False, environ=environ)


def typed(drawn: tuple[int, list[int], TextEdits]) -> Case:
    verb, words, edits = drawn
    names = sorted(VERBS)
    calm = [each for each in names if each.split()[0] not in {"demo", "sandbox", "fleet"}]
    line = f"{calm[verb % len(calm)]} -out=x -target=kafka_topic.t -json p.kplan a=b".encode()
    text = edit_text(line, edits).decode("utf-8", "replace").replace("\x00", "")
    args = [*text.split(" "), *(TOKENS[each].decode("utf-8", "replace") for each in words)]
    # What is sandboxed here is the folder; these leave it, or wait for somebody.
    if not {*args} & {"console", "demo", "sandbox", "fleet", "-watch", "--watch", "test"}:
        files = {"main.tf": MAIN.encode(), "p.kplan": worked()["p.kplan"]}
        args.append("-input=false")
        return Case(files, args, writes=frozenset(_anything(args)))
    return Case({}, ("version",))


def _anything(args: list[str]) -> list[str]:
    """Name what a command line may write: init and others write files of their own."""
    named = [each.partition("=")[2] for each in args if "=" in each]
    own = [".gitignore", ".pre-commit-config.yaml", "kplan.hcl", "Jenkinsfile", ".gitlab-ci.yml"]
    action = [f".github/actions/kplan/{each}" for each in ("action.yml", "run.py")]
    flows = [f".github/workflows/kplan-{each}.yml" for each in ("plan", "apply", "drift")]
    return [*named, *args, *own, *action, *flows, "main.tf", "state"]


mixed_edits = (text_edits, document_edits, st.booleans())
TARGETS: dict[str, tuple[Callable[..., Case], st.SearchStrategy[object]]] = {
    "plan": (lambda drawn: configuration(drawn, "plan"), texts),
    "validate": (lambda drawn: configuration(drawn, "validate -json"), texts),
    "fmt": (lambda drawn: configuration(drawn, "fmt -check -diff"), texts),
    "graph": (lambda drawn: configuration(drawn, "graph"), texts),
    "tfvars": (variables, text_edits),
    "tf.json": (json_configuration, st.tuples(*mixed_edits)),
    "yaml": (converted, st.tuples(st.integers(0, len(YAML_SAMPLES) - 1), text_edits)),
    "state": (
        stated,
        st.tuples(
            st.sampled_from(["plan", "state list", "drift", "state verify", "apply -auto-approve"]),
            *mixed_edits,
        ),
    ),
    "plan file": (
        planned,
        st.tuples(
            st.sampled_from(["show", "apply -auto-approve", "show -json"]),
            st.sampled_from(["plan.json", "meta.json", "show.json"]),
            *mixed_edits,
        ),
    ),
    "journal": (journalled, st.tuples(st.integers(1, 2), text_edits)),
    "properties": (connected, text_edits),
    "arguments": (
        typed,
        st.tuples(
            st.integers(0, 999), st.lists(st.integers(0, len(TOKENS) - 1), max_size=3), text_edits
        ),
    ),
}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", TARGETS)
def test_no_edited_input_brings_about_a_traceback_a_hang_or_half_a_file(target: str) -> None:
    make, inputs = TARGETS[target]

    @settings(
        max_examples=INPUTS // len(TARGETS) + 1 if IS_CAMPAIGN else 12,
        deadline=None,
        derandomize=not IS_CAMPAIGN,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs)
    def campaign(drawn: object) -> None:
        check(make(drawn))

    campaign()


@settings(
    max_examples=INPUTS // 14 + 1 if IS_CAMPAIGN else 12,
    deadline=None,
    derandomize=not IS_CAMPAIGN,
    database=None,
    phases=[Phase.generate, Phase.shrink],
)
@given(text_edits)
def test_no_edited_fleet_file_brings_about_a_traceback(edits: TextEdits) -> None:
    """Its verbs start Spark after it was read, so it is read here by itself."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "fleet.hcl").write_bytes(edit_text(FLEET, edits))
        with suppress(KplanError):
            load_fleet(Path(name), Inputs())
