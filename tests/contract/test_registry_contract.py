"""Schemas registered, checked, deleted and planned: in memory and at a real schema registry."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.registry import NewSchema, RegisteredSchema, SchemaReference, SchemaRegistry
from kplan.kafka.rest.registry import RestRegistry
from kplan.kafka.settings.connection import RestService, Timeouts
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from tests.contract.clusters import errors
from tests.project_harness import ProjectHarness

ORDER = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}'
)
SPACED = """{"namespace": "shop", "name": "Order", "type": "record",
  "fields": [{"type": {"type": "string"}, "name": "id"}]}"""
WITH_TOTAL = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"},'
    '{"name":"total","type":"double","default":0}]}'
)
WITH_REQUIRED = WITH_TOTAL.replace(',"default":0', "")


@pytest.fixture(params=["memory", pytest.param("apicurio", marks=pytest.mark.broker)])
def registry(request: pytest.FixtureRequest) -> Iterator[SchemaRegistry]:
    if request.param == "memory":
        found = MemoryCluster(1).schema_registry()
        assert found is not None
        yield found
        return
    url: str = request.getfixturevalue("registry_url")
    with closing(RestRegistry(RestService(url), Timeouts())) as real:
        yield real


@pytest.fixture
def subject() -> str:
    """Name a subject of one test, so that the registry may be shared."""
    return f"ct-{uuid.uuid4().hex[:8]}/odd name-value"


@pytest.fixture
def site(registry: SchemaRegistry, tmp_path: Path) -> Iterator[ProjectHarness]:
    """Give a folder with the registry beside a cluster in memory."""
    cluster = MemoryCluster(1)
    cluster.schema_registry = lambda: registry  # type: ignore[method-assign]
    found = ProjectHarness(tmp_path, cluster)
    yield found
    if (tmp_path / "state").exists():
        found.apply(is_destroy=True)


def latest(registry: SchemaRegistry, subject: str) -> RegisteredSchema:
    found = registry.latest_schemas([subject])[subject]
    assert isinstance(found, RegisteredSchema)
    return found


def test_a_schema_is_registered_once_however_often_it_is_sent(
    registry: SchemaRegistry, subject: str
) -> None:
    assert subject not in registry.subjects()
    for _ in range(2):
        assert registry.register_schemas([NewSchema(subject, "AVRO", ORDER)]) == {subject: None}
    assert subject in registry.subjects()
    found = latest(registry, subject)
    assert (found.version, found.schema_type) == (1, "AVRO")
    assert latest(registry, subject) == registry.latest_schemas(None)[subject]


def test_the_verdict_comes_before_anything_is_registered(
    registry: SchemaRegistry, subject: str
) -> None:
    registry.register_schemas([NewSchema(subject, "AVRO", ORDER)])
    assert registry.set_compatibility({subject: "BACKWARD"}) == {subject: None}
    assert latest(registry, subject).level == "BACKWARD"
    bad, good = (NewSchema(subject, "AVRO", each) for each in (WITH_REQUIRED, WITH_TOTAL))
    assert errors(registry.check_schemas([bad])) == {subject: "SCHEMA_INCOMPATIBLE"}
    assert errors(registry.check_schemas([good])) == {subject: "ok"}
    assert latest(registry, subject).version == 1
    assert errors(registry.register_schemas([bad])) == {subject: "SCHEMA_INCOMPATIBLE"}
    assert errors(registry.register_schemas([good])) == {subject: "ok"}
    assert latest(registry, subject).version == 2


def test_an_older_version_is_told_because_it_does_not_become_the_latest_again(
    registry: SchemaRegistry, subject: str
) -> None:
    registry.set_compatibility({subject: "NONE"})
    for each in (ORDER, WITH_TOTAL):
        registry.register_schemas([NewSchema(subject, "AVRO", each)])
    old = NewSchema(subject, "AVRO", ORDER)
    assert errors(registry.check_schemas([old])) == {subject: "SCHEMA_IS_OLD"}
    registry.register_schemas([old])
    assert latest(registry, subject).version == 2


def test_what_others_refer_to_is_registered_first_and_not_deleted_under_them(
    registry: SchemaRegistry, subject: str
) -> None:
    user = f"{subject}-user"
    uses = '{"type":"record","name":"Cart","fields":[{"name":"order","type":"shop.Order"}]}'
    specs = [
        NewSchema(user, "AVRO", uses, (SchemaReference("shop.Order", subject),)),
        NewSchema(subject, "AVRO", ORDER),
    ]
    assert errors(registry.register_schemas(specs)) == {subject: "ok", user: "ok"}
    assert latest(registry, user).references == (SchemaReference("shop.Order", subject, 1),)
    for validate_only in (True, False):
        answer = registry.delete_subjects({subject: ()}, validate_only=validate_only)
        assert errors(answer) == {subject: "SCHEMA_REFERENCED"}
    together = {subject: (), user: (subject,)}
    if isinstance(registry, RestRegistry):
        assert errors(registry.delete_subjects(together, validate_only=True))[user] == "ok"
        answers = registry.delete_subjects(together)  # Apicurio counts the deleted one
        told = answers[subject]
        assert told is None or "are deleted, and this registry counts" in told.message
    else:
        assert errors(registry.delete_subjects(together)) == {subject: "ok", user: "ok"}


def test_a_schema_with_references_can_change(registry: SchemaRegistry, subject: str) -> None:
    """Apicurio calls it invalid when it is only asked, and registers it."""
    user = f"{subject}-user"
    uses = '{"type":"record","name":"Cart","fields":[{"name":"order","type":"shop.Order"}MORE]}'
    more = ',{"name":"new","type":"int","default":0}'
    first, second = (
        NewSchema(
            user, "AVRO", uses.replace("MORE", each), (SchemaReference("shop.Order", subject),)
        )
        for each in ("", more)
    )
    registry.register_schemas([NewSchema(subject, "AVRO", ORDER), first])
    assert errors(registry.check_schemas([second])) == {user: "ok"}
    assert errors(registry.register_schemas([second])) == {user: "ok"}
    assert latest(registry, user).version == 2


def test_a_deleted_subject_is_gone_and_begins_again_with_a_later_version(
    registry: SchemaRegistry, subject: str
) -> None:
    registry.register_schemas([NewSchema(subject, "AVRO", ORDER)])
    assert errors(registry.delete_subjects({subject: ()}, validate_only=True)) == {subject: "ok"}
    assert subject in registry.subjects()
    for _ in range(2):
        assert errors(registry.delete_subjects({subject: ()})) == {subject: "ok"}
    assert subject not in registry.subjects()
    assert registry.latest_schemas([subject]) == {}
    registry.register_schemas([NewSchema(subject, "AVRO", ORDER)])
    assert latest(registry, subject).version == 2


def test_what_is_no_schema_is_refused(registry: SchemaRegistry, subject: str) -> None:
    answer = registry.register_schemas([NewSchema(subject, "AVRO", '{"type":"record"')])
    assert errors(answer) == {subject: "SCHEMA_INVALID"}
    assert subject not in registry.subjects()


FOLDER = """
provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
resource "kafka_schema" "order" {{
  subject             = "{subject}"
  schema              = {schema}
  compatibility_level = "{level}"
}}
resource "kafka_schema" "event" {{
  subject     = "{subject}-event"
  schema_type = "protobuf"
  schema      = <<-EOT
    syntax = "proto3"; // written by hand
    message Event {{ string id = 1; }}
  EOT
}}
resource "kafka_schema" "page" {{
  subject     = "{subject}-page"
  schema_type = "JSON"
  schema      = jsonencode({{ type = "object", properties = {{ url = {{ type = "string" }} }} }})
}}
"""


def declare(site: ProjectHarness, subject: str, schema: str = ORDER, level: str = "FULL") -> None:
    quoted = schema.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    site.write(FOLDER.format(subject=subject, schema=f'"{quoted}"', level=level))


def applied(site: ProjectHarness) -> bool:
    outcomes = site.apply().outcomes
    return all(each.status is OutcomeStatus.APPLIED and each.is_verified for each in outcomes)


def actions(site: ProjectHarness) -> dict[str, Action]:
    changes = site.plan().plan.changes
    return {each.address.name: each.action for each in changes if each.action is not Action.NO_OP}


def test_schemas_are_planned_applied_and_destroyed(
    site: ProjectHarness, registry: SchemaRegistry, subject: str
) -> None:
    declare(site, subject)
    planned = site.plan().plan
    assert not planned.diagnostics, planned.diagnostics
    assert {each.action for each in planned.changes} == {Action.CREATE}
    assert applied(site)
    assert actions(site) == {}
    declare(site, subject, SPACED)
    assert actions(site) == {}  # it says the same in other words
    declare(site, subject, WITH_TOTAL)
    change = next(each for each in site.plan().plan.changes if each.action is Action.UPDATE)
    told = {each.path[1]: each.after for each in change.attributes}
    assert told == {
        "shop.Order": "record of id, total",
        "shop.Order.total": "double, default 0",
    }
    assert applied(site)
    assert latest(registry, subject).version == 2
    site.apply(is_destroy=True)
    assert not {each for each in registry.subjects() if each.startswith(subject)}


def test_a_plan_with_an_incompatible_schema_is_refused_by_the_registrys_own_word(
    site: ProjectHarness, subject: str
) -> None:
    declare(site, subject)
    site.apply()
    declare(site, subject, WITH_REQUIRED)
    problems = [each for each in site.plan().plan.diagnostics if each.is_error]
    assert [(each.code, each.address and each.address.name) for each in problems] == [
        ("KP522", "order")
    ]
    declare(site, subject, WITH_REQUIRED, level="NONE")  # which is set before it is registered
    assert not site.plan().plan.has_errors
    assert applied(site)
    assert actions(site) == {}


def test_a_schema_that_was_changed_outside_is_drift(
    site: ProjectHarness, registry: SchemaRegistry, subject: str
) -> None:
    declare(site, subject)
    site.apply()
    registry.register_schemas([NewSchema(subject, "AVRO", WITH_TOTAL)])
    registry.delete_subjects({f"{subject}-page": ()})
    drift = {each.address.name: each.action for each in site.plan().plan.drift}
    assert drift == {"order": Action.UPDATE, "page": Action.DELETE}


def test_a_registry_that_does_not_answer_leaves_schemas_unread_and_nothing_planned(
    site: ProjectHarness, subject: str
) -> None:
    declare(site, subject)
    dead = RestRegistry(RestService("http://127.0.0.1:1"), Timeouts())
    site.cluster.schema_registry = lambda: dead  # type: ignore[method-assign]
    planned = site.plan().plan
    assert planned.changes == ()
    assert "127.0.0.1:1" in planned.unread["kafka_schema"]
    assert not planned.is_complete
