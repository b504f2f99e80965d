"""Schemas as declared: what is wrong with them, and when they are equal to what is live."""

from dataclasses import replace

import pytest

from kplan.kinds.schema_subject import SchemaKind, SchemaSubject, topic_of_subject

KIND = SchemaKind()
LIVE = SchemaSubject(
    "orders-value",
    '{"type":"record","name":"A","fields":[]}',
    "AVRO",
    ({"name": "x", "subject": "s", "version": "3"},),
    "FULL",
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (SchemaSubject("", '"string"'), "has a name"),
        (SchemaSubject("s", " "), "empty"),
        (SchemaSubject("s", '"string"', "XML"), 'no schema type "XML"'),
        (SchemaSubject("s", '"string"', compatibility_level="SOME"), 'level "SOME"'),
        (SchemaSubject("s", "order.avsc"), "not JSON"),
        (SchemaSubject("s", "{", "JSON"), "not JSON"),
        (SchemaSubject("s", '"int"', references=({"name": "a"},)), "no subject"),
        (SchemaSubject("s", '"int"', references=({"subject": "a"},)), "no name"),
        (SchemaSubject("s", '"int"', references=({"name": "a", "subject": "b", "version": "0"},)),
         "numbers from 1"),
        (SchemaSubject("s", '"int"', references=({"name": "a", "subject": "b", "id": "1"},)),
         'no "id"'),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_told(value: SchemaSubject, words: str) -> None:
    (problem,) = KIND.check(value)
    assert problem.code == "KP520"
    assert words in problem.detail


def test_a_path_in_place_of_the_text_has_a_hint() -> None:
    (problem,) = KIND.check(SchemaSubject("s", "order.avsc"))
    assert 'file("order.avsc")' in problem.hint


def test_words_are_taken_in_lower_case_as_terraforms_provider_does() -> None:
    value = KIND.normalize(
        SchemaSubject("s", "x", "protobuf", compatibility_level="full_transitive")
    )
    assert (value.schema_type, value.compatibility_level) == ("PROTOBUF", "FULL_TRANSITIVE")
    assert list(KIND.check(value)) == []


def is_equal(desired: SchemaSubject, *ignored: tuple[str, ...]) -> bool:
    before, after = KIND.align(LIVE, desired, ignored)
    return bool(before == after)


def test_the_same_in_other_words_is_no_change() -> None:
    assert is_equal(replace(LIVE, schema='{ "name": "A", "fields": [], "type": "record" }'))
    assert not is_equal(replace(LIVE, schema='{"type":"record","name":"B","fields":[]}'))


def test_what_is_left_out_is_left_alone() -> None:
    assert is_equal(replace(LIVE, compatibility_level=None))
    assert is_equal(replace(LIVE, references=({"name": "x", "subject": "s"},)))
    assert not is_equal(replace(LIVE, references=()))
    assert not is_equal(replace(LIVE, references=({"name": "x", "subject": "s", "version": "4"},)))


def test_ignored_attributes_are_taken_over() -> None:
    other = replace(LIVE, schema='"string"', references=(), compatibility_level="NONE")
    assert is_equal(other, ("schema",), ("references",), ("compatibility_level",))
    assert is_equal(other, ())
    assert not is_equal(other, ("schema",), ("compatibility_level",))


@pytest.mark.parametrize(
    ("subject", "topic"),
    [
        ("orders-value", "orders"), ("orders-key", "orders"), (":.staging:orders-value", "orders"),
        ("com.shop.Order", ""), ("orders", ""), ("-value", ""),
    ],
)  # fmt: skip
def test_the_topic_of_a_subject_is_known_by_its_name(subject: str, topic: str) -> None:
    assert topic_of_subject(subject) == topic
