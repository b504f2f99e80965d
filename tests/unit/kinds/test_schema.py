"""The dataclass of a kind is its schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest

from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.schema import Attribute, from_document, schema_fields, to_document
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from tests.values import acl, topic


def test_every_kind_has_its_own_name_and_every_attribute_its_words() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        for each in schema_fields(kind.schema):
            assert each.attribute.doc.endswith("."), each.name


def test_attributes_are_those_of_terraforms_provider() -> None:
    """Beside these stands `placement`, which is ours."""
    assert {each.name: each.is_required for each in schema_fields(Acl)} == {
        "resource_name": True,
        "resource_type": True,
        "acl_principal": True,
        "acl_host": True,
        "acl_operation": True,
        "acl_permission_type": True,
        "resource_pattern_type_filter": False,
    }
    assert {each.name: each.attribute.type for each in schema_fields(Topic)} == {
        "name": "string",
        "partitions": "number",
        "replication_factor": "number",
        "replica_assignment": "list(list(number))",
        "config": "map(string)",
        "placement": "map(string)",
        "retention_step": "string",
    }


def test_what_names_an_object_replaces_it() -> None:
    assert [each.name for each in schema_fields(Topic) if each.attribute.forces_replacement] == [
        "name"
    ]
    assert all(each.attribute.forces_replacement for each in schema_fields(Acl))


@pytest.mark.parametrize(
    "value",
    [topic(config={"b": "1", "a": "2"}), topic(replica_assignment=((1, 2), (2, 1))), acl()],
)
def test_a_value_survives_its_document(value: object) -> None:
    written = to_document(value)
    assert list(written) == [each.name for each in schema_fields(type(value))]
    assert from_document(type(value), written) == value


def test_a_document_is_sorted_plain_data() -> None:
    written = to_document(topic(config={"b": "1", "a": "2"}, replica_assignment=((1,),)))
    assert written["replica_assignment"] == [[1]]
    assert isinstance(written["config"], Mapping)
    assert list(written["config"]) == ["a", "b"]


def test_a_name_from_a_newer_version_is_left_out_and_a_missing_one_is_an_error() -> None:
    assert from_document(Topic, {"name": "a", "from_the_future": 1}) == Topic("a")
    with pytest.raises(KeyError):
        from_document(Acl, {"resource_name": "a"})


def test_a_field_without_attribute_is_a_mistake_in_a_kind() -> None:
    @dataclass(frozen=True, slots=True)
    class Bare:
        a: int

    @dataclass(frozen=True, slots=True)
    class Full:
        a: Annotated[float, Attribute("A number.", "number")] = 1.5

    with pytest.raises(TypeError, match="carries no Attribute"):
        schema_fields(Bare)
    assert schema_fields(Full)[0].default == 1.5
    assert to_document(Full()) == {"a": 1.5}


def test_every_summary_is_one_short_sentence_without_names() -> None:
    for code, summary in SUMMARIES.items():
        assert re.fullmatch(r"KP[1-7]\d\d", code)
        assert not summary.endswith(".")
        assert "{" not in summary
