"""The state as a document: what is written is read, and nothing else is."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.model.address import Address
from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import OutputValue, State
from kplan.state.codec import (
    decode_header,
    decode_modules,
    decode_move_note,
    decode_state,
    encode_move_note,
    encode_state,
)
from kplan.state.json_document import seal_document
from tests.unit.state.state_builders import owned, state
from tests.unit.state.state_strategies import JSON, STATES, UNHURRIED


def written(what: State) -> bytes:
    return encode_state(what, "0.1.0")


def foreign(**members: object) -> bytes:
    """Build a sealed document that differs from a good one in some members."""
    document = json.loads(written(state(owned())))
    document.pop("sha256")
    return seal_document({**document, **members})


@UNHURRIED
@given(STATES)
def test_what_is_written_is_read(what: State) -> None:
    assert decode_state(written(what)) == what


@UNHURRIED
@given(STATES)
def test_the_modules_of_what_is_owned_are_read_alone(what: State) -> None:
    assert decode_modules(written(what)) == decode_state(written(what)).modules


@pytest.mark.parametrize("name", ["half \ud800", "whole"])
def test_large_numbers_and_halves_of_characters_do_not_prevent_that(name: str) -> None:
    outputs = {name: OutputValue(10**30)}
    found = replace(state(replace(owned(), provider="eu")), outputs=outputs)
    assert decode_modules(written(found)) == {("kafka_topic", "orders", "eu"): ()}


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{}",
        written(state(owned()))[:-9],
        written(state(owned())).replace(b"orders", b"others"),
        encode_move_note("elsewhere", "0.1.0"),
        foreign(format=99),
        foreign(resources=[{"kind": "kafka_new"}]),
        foreign(resources=[{"kind": "kafka_topic", "address": "kafka_topic.a"}]),
    ],
)
def test_what_is_no_state_names_no_owners(damaged: bytes) -> None:
    with pytest.raises(StateError) as wanted:
        decode_state(damaged)
    with pytest.raises(StateError) as found:
        decode_modules(damaged)
    assert (type(found.value), str(found.value)) == (type(wanted.value), str(wanted.value))


def test_a_state_of_terraform_is_not_called_damaged() -> None:
    with pytest.raises(StateError, match="It is a state of Terraform") as found:
        decode_state(b'{"version": 4, "terraform_version": "1.11.4", "serial": 3}')
    assert not isinstance(found.value, StateCorruptError)
    assert found.value.hint.endswith("kplan import -from-tfstate=FILE")


def _last(line: str) -> tuple[str, float]:
    before, _, number = line.rpartition(" ")
    return before, float(number.rstrip(","))


@UNHURRIED
@given(st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=4))
def test_a_sealed_document_is_laid_out_as_json_tools_do(document: dict[str, object]) -> None:
    text = seal_document(document).decode("utf-8", "surrogatepass")
    found = json.loads(text)
    lines = json.dumps(found, indent=2, ensure_ascii=False).splitlines()
    for line, same in zip(text.splitlines(), lines, strict=True):
        # Tools write fractions in several ways: 1e-05, 1e-5, 0.00001.
        assert line == same or _last(line) == _last(same)
    del found["sha256"]
    assert found == document or "sha256" in document


def test_the_document_reads_like_a_table_of_contents() -> None:
    text = written(state(owned())).decode()
    assert list(json.loads(text)) == [
        "format", "kplan_version", "lineage", "serial", "cluster_id", "outputs", "resources",
        "sha256",
    ]  # fmt: skip
    assert text.startswith('{\n  "format": 1,\n  "kplan_version": "0.1.0",\n')
    assert '      "address": "kafka_topic.orders",\n' in text
    assert text.endswith('"\n}\n')


def test_one_changed_object_changes_its_own_lines_and_the_checksum() -> None:
    """So that a state kept in git shows what happened."""
    before = written(state(owned("a"), owned("b"), owned("c"))).decode().splitlines()
    after = written(state(owned("a"), owned("b", partitions=6), owned("c"))).decode().splitlines()
    differ = [new for old, new in zip(before, after, strict=True) if old != new]
    assert [line.strip().split(":")[0] for line in differ] == ['"partitions"', '"sha256"']


def test_the_order_of_the_inputs_leaves_no_trace() -> None:
    one, two = owned("a", "x"), owned("a", 2)
    outputs = {"z": OutputValue(1), "a": OutputValue(2)}
    forward = replace(state(one, two), outputs=outputs)
    backward = replace(state(two, one), outputs=dict(reversed(outputs.items())))
    assert written(forward) == written(backward)


def test_a_sensitive_output_is_never_written() -> None:
    what = replace(state(), outputs={"password": OutputValue("hunter2", "string", True)})
    assert b"hunter2" not in written(what)
    assert decode_state(written(what)).outputs["password"] == OutputValue(None, "string", True)


@UNHURRIED
@given(STATES, st.randoms(use_true_random=False))
def test_any_flipped_bit_is_damage(what: State, dice: random.Random) -> None:
    data = bytearray(written(what))
    at = dice.randrange(len(data))
    data[at] ^= 1 << dice.randrange(8)
    with pytest.raises(StateCorruptError):
        decode_state(bytes(data))


@settings(UNHURRIED, max_examples=5)
@given(STATES)
def test_any_truncation_is_damage(what: State) -> None:
    data = written(what)
    for length in range(len(data)):
        with pytest.raises(StateCorruptError):
            decode_state(data[:length])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[1]", "no state of kplan"),
        (b'{"format": "1"}', "no state of kplan"),
        (b'{"format": 1}', "checksum"),
        (foreign(serial="many"), "misplaces"),
        (foreign(resources=[{"kind": "kafka_topic"}]), "misplaces"),
        (foreign(outputs=[]), "misplaces"),
        (foreign(resources=None), "misplaces"),
        (foreign(resources=[7]), "misplaces"),
    ],
)
def test_what_is_no_state_is_named_for_what_it_is(data: bytes, words: str) -> None:
    with pytest.raises(StateCorruptError) as caught:
        decode_state(data)
    assert words in caught.value.detail


def test_both_sides_of_a_git_merge_are_told_as_such() -> None:
    whole = written(state(owned())).splitlines(keepends=True)
    ours, theirs = b"<<<<<<< HEAD\n", b">>>>>>> other\n"
    for at in (0, 4):
        merged = b"".join([*whole[:at], ours, whole[at], b"=======\n", theirs, *whole[at + 1 :]])
        with pytest.raises(StateCorruptError, match="both sides of a git merge") as fault:
            decode_state(merged)
        assert "state rebuild" in fault.value.hint


def test_a_note_of_where_the_state_went_is_no_state() -> None:
    note = encode_move_note("the topic __kplan_state", "0.1.0")
    assert decode_move_note(note) == "the topic __kplan_state"
    for read in (decode_state, decode_header):
        with pytest.raises(StateError, match="moved to the topic __kplan_state"):
            read(note)
    for other in (written(state()), b"", b"[1]", b"{"):
        assert decode_move_note(other) == ""


def test_a_newer_format_names_the_version_that_wrote_it() -> None:
    with pytest.raises(StateCorruptError) as caught:
        decode_state(foreign(format=3, kplan_version="3.4.0"))
    assert "format is 3" in caught.value.detail
    assert "kplan 3.4.0 or later" in caught.value.hint


def test_a_kind_of_a_later_version_is_an_error_that_names_the_version() -> None:
    row = {"kind": "kafka_mirror", "address": "kafka_mirror.a"}
    with pytest.raises(StateError) as caught:
        decode_state(foreign(resources=[row], kplan_version="3.4.0"))
    assert "kafka_mirror" in caught.value.detail
    assert "kplan 3.4.0" in caught.value.hint


def test_the_heading_is_read_without_the_resources() -> None:
    row = {"kind": "kafka_mirror"}
    assert decode_header(foreign(resources=[row])).serial == 41
    with pytest.raises(StateCorruptError):
        decode_header(foreign(serial=None))


def test_an_instance_key_with_any_character_survives() -> None:
    what = state(owned(key='eu "west"\n\\ \u2028 \ud800'))
    (address,) = decode_state(written(what)).owned
    assert address == Address("kafka_topic", "orders", 'eu "west"\n\\ \u2028 \ud800')
