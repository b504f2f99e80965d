"""The fast reader of configs says what the general decoder says."""

from collections.abc import Mapping
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.cluster.request import ConfigSource, TopicPreview
from kplan.kafka.wire import messages
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.topic import decode_previews
from kplan.kafka.wire.topic_config import (
    CREATE_TOPICS_VERSION,
    DESCRIBE_CONFIGS_VERSION,
    UnexpectedLayout,
    decode_configs,
    decode_configs_fast,
    decode_previews_fast,
)
from kplan.model.errors import Refusal

TEXTS = st.text(max_size=8) | st.sampled_from(["x" * 126, "x" * 127, "x" * 128, "y" * 16_383])
"""Lengths around those from which a length takes two bytes, and three."""


def described_entry(name: str, value: str | None, source: int, *, is_sensitive: bool) -> Message:
    result = messages.DESCRIBE_CONFIGS.response.DescribeConfigsResult
    return result.DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=False,
        config_source=source,
        is_sensitive=is_sensitive,
        synonyms=[],
        config_type=5,
        documentation=None,
    )


def described(name: str, code: int, message: str | None, entries: list[Message]) -> Message:
    return messages.DESCRIBE_CONFIGS.response.DescribeConfigsResult(
        error_code=code, error_message=message, resource_type=2, resource_name=name, configs=entries
    )


DESCRIBED_ENTRIES = st.builds(
    described_entry, TEXTS, st.none() | TEXTS, st.integers(-1, 9), is_sensitive=st.booleans()
)
DESCRIBED = st.builds(
    described,
    TEXTS,
    st.sampled_from([0, 0, 3, 29]),
    st.none() | TEXTS,
    st.lists(DESCRIBED_ENTRIES, max_size=5),
)


def described_body(results: list[Message], throttle_ms: int = 0) -> bytes:
    answer = messages.DESCRIBE_CONFIGS.response(throttle_time_ms=throttle_ms, results=results)
    return bytes(answer.encode(version=DESCRIBE_CONFIGS_VERSION))


@settings(deadline=None, max_examples=40)
@given(st.lists(DESCRIBED, max_size=4))
def test_configs_are_read_as_the_general_decoder_reads_them(results: list[Message]) -> None:
    body = described_body(results)
    answer = messages.decode_response(
        messages.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, memoryview(body)
    )
    assert decode_configs_fast(body, {}) == decode_configs(answer)


def created_entry(name: str, value: str | None, source: int, *, is_sensitive: bool) -> Message:
    result = messages.PREVIEW_TOPICS.response.CreatableTopicResult
    return result.CreatableTopicConfigs(
        name=name, value=value, read_only=True, config_source=source, is_sensitive=is_sensitive
    )


def created(
    name: str, code: int, message: str | None, counts: tuple[int, int], entries: list[Message]
) -> Message:
    return messages.PREVIEW_TOPICS.response.CreatableTopicResult(
        name=name,
        topic_id=UUID(int=7),
        error_code=code,
        error_message=message,
        num_partitions=counts[0],
        replication_factor=counts[1],
        configs=entries,
    )


CREATED_ENTRIES = st.builds(
    created_entry, TEXTS, st.none() | TEXTS, st.integers(-1, 9), is_sensitive=st.booleans()
)
CREATED = st.builds(
    created,
    TEXTS,
    st.sampled_from([0, 0, 36, 44]),
    st.none() | TEXTS,
    st.tuples(st.integers(-1, 2**31 - 1), st.integers(-1, 9)),
    st.lists(CREATED_ENTRIES, max_size=5),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(CREATED, max_size=4), st.integers(0, 9))
def test_previews_are_read_as_the_general_decoder_reads_them(
    results: list[Message], throttle_ms: int
) -> None:
    answer = messages.PREVIEW_TOPICS.response(throttle_time_ms=throttle_ms, topics=results)
    body = bytes(answer.encode(version=CREATE_TOPICS_VERSION))
    again = messages.decode_response(
        messages.PREVIEW_TOPICS, CREATE_TOPICS_VERSION, memoryview(body)
    )
    assert decode_previews_fast(body, {}) == decode_previews(again)


def test_equal_entries_are_one_value_in_memory() -> None:
    entry = described_entry("retention.ms", "1", 1, is_sensitive=False)
    body = described_body([described(name, 0, None, [entry]) for name in ("a", "b")])
    read = decode_configs_fast(body, {})
    first, second = read["a"], read["b"]
    assert isinstance(first, Mapping)
    assert isinstance(second, Mapping)
    assert first["retention.ms"] is second["retention.ms"]
    assert first["retention.ms"].source is ConfigSource.TOPIC


def test_what_was_not_asked_for_is_left_to_the_general_decoder() -> None:
    entry = described_entry("a", "1", 1, is_sensitive=False)
    entry.documentation = "text"
    with pytest.raises(UnexpectedLayout):
        decode_configs_fast(described_body([described("t", 0, None, [entry])]), {})


def test_a_preview_without_the_right_to_see_configs_is_left_to_the_general_decoder() -> None:
    """K4-27: counts are -1, configs null, and the reason stands in a tagged field."""
    hidden = created("t", 0, None, (-1, -1), [])
    hidden.configs = None
    hidden.topic_config_error_code = 29
    hidden.tags = {"topic_config_error_code"}
    answer = messages.PREVIEW_TOPICS.response(topics=[hidden])
    body = bytes(answer.encode(version=CREATE_TOPICS_VERSION))
    with pytest.raises(UnexpectedLayout):
        decode_previews_fast(body, {})
    again = messages.decode_response(
        messages.PREVIEW_TOPICS, CREATE_TOPICS_VERSION, memoryview(body)
    )
    assert decode_previews(again) == {"t": TopicPreview(None, None, {})}


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_cut_answer_is_never_taken_for_a_whole_one(data: st.DataObject) -> None:
    entry = described_entry("retention.ms", "1", 1, is_sensitive=False)
    body = described_body([described(name, 0, None, [entry]) for name in ("a", "b")])
    cut = body[: data.draw(st.integers(0, len(body) - 1))]
    with pytest.raises(UnexpectedLayout):
        decode_configs_fast(cut, {})
    with pytest.raises(UnexpectedLayout):
        decode_configs_fast(body + b"\x00", {})


def test_a_refusal_keeps_its_throttle_time() -> None:
    refused = described("a", 89, "wait", [])
    read = decode_configs_fast(described_body([refused], throttle_ms=70), {})
    assert read == {"a": Refusal("THROTTLING_QUOTA_EXCEEDED", 89, "wait", 70)}
