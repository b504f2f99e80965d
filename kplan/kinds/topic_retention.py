"""`retention_step`: a large cut of retention.ms in several applies, so that brokers delete less."""

import re
from collections.abc import Iterator, Mapping

from kplan.kinds.base import Problem
from kplan.kinds.topic_rules import Topic

RETENTION = "retention.ms"
_SPAN = re.compile(r"([1-9][0-9]{0,11})(ms|s|m|h|d)")
_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def retention_step_ms(topic: Topic) -> int | None:
    """Return the step in milliseconds, None where there is none or it cannot be read."""
    found = _SPAN.fullmatch(topic.retention_step or "")
    return int(found[1]) * _MS[found[2]] if found else None


def retention_step_problems(topic: Topic) -> Iterator[Problem]:
    """Check a step without a cluster."""
    if topic.retention_step is None:
        return
    path = ("retention_step",)
    if retention_step_ms(topic) is None:
        yield Problem(
            "KP547",
            f'retention_step = "{topic.retention_step}" of topic "{topic.name}" is not a span.',
            "Write a number with a unit: ms, s, m, h or d; for example 12h.",
            path,
        )
    elif RETENTION not in topic.config:
        yield Problem(
            "KP547",
            f'Topic "{topic.name}" declares retention_step without {RETENTION}.',
            f"Declare {RETENTION} in config, or remove retention_step.",
            path,
        )


def limit_retention_cut(
    live: Topic, desired: Topic, config: Mapping[str, str]
) -> tuple[Mapping[str, str], str | None]:
    """Return the configs with retention.ms cut by one step, and the declared value if more is left.

    An own value of the topic without a limit (-1), or none, has no steps: it is cut at once.
    """
    step = retention_step_ms(desired)
    if step is None:
        return config, None
    before, after = _bound(live.config), _bound(config)
    if before is None or after is None or before - after <= step:
        return config, None
    return {**config, RETENTION: str(before - step)}, config[RETENTION]


def retention_step_note(topic: object) -> str:
    """Say to which value an update is a step, and how many applies are left; "" if it is none."""
    if not isinstance(topic, Topic) or topic.retention_target is None:
        return ""
    step, value = retention_step_ms(topic), _bound(topic.config)
    if not step or value is None:
        return ""
    left = -(-(value - int(topic.retention_target)) // step)
    return f"KP2217 a step to {RETENTION} = {topic.retention_target}: {left:,} more to apply"


def _bound(config: Mapping[str, str]) -> int | None:
    """Return the retention in milliseconds, None for no limit and what is not a number."""
    text = config.get(RETENTION, "")
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else None
