"""What a raw number of Kafka means to a person."""

from decimal import Decimal

_TIMES = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_NO_LIMIT = (1 << 63) - 1
_UNBOUNDED = ("retention.ms", "retention.bytes")


def meaning(key: str, value: object) -> str:
    """Say a time or size in words (`7d`, `1 GiB`); "" where the key or value is neither.

    Keys ending in `ms` are milliseconds, in `bytes` bytes; -1 and 2^63-1 stand for no limit.
    """
    unit = next((each for each in ("ms", "bytes") if key.endswith((f".{each}", f"_{each}"))), "")
    if not unit:
        return ""
    number = _integer(value)
    if number is None:
        return ""
    if number == _NO_LIMIT or (number == -1 and key in _UNBOUNDED):
        return "no limit"
    if number == -2 and key.startswith("local."):  # noqa: PLR2004 - Kafka's mark for "inherit" (KIP-405)
        return f"as {key.removeprefix('local.')}"
    if number < 0:
        return ""
    return duration(number) if unit == "ms" else size(number)


def _integer(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def duration(milliseconds: int) -> str:
    """Write a duration in its two largest units: `1d 12h`; a leading ~ says that more is cut."""
    parts: list[str] = []
    rest = milliseconds
    for length, unit in _TIMES:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    if not parts:
        return "0"
    return ("~" if len(parts) > 2 else "") + " ".join(parts[:2])  # noqa: PLR2004 - two units


def size(count: int) -> str:
    """Write a number of bytes: `1 GiB`, `~1.4 MiB`; "" below 1 KiB, which needs no words."""
    for length, unit in _SIZES:
        if count >= length:
            amount = Decimal(count) / length
            shown = amount.quantize(Decimal("0.1")).normalize()
            return f"{'' if shown == amount else '~'}{shown:f} {unit}"
    return ""


def counted(count: int, noun: str) -> str:
    """Write a number with its noun: `1 topic`, `2 topics`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
