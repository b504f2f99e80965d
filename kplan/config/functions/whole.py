"""Numbers that functions count and index with."""

from typing import Final

from kplan.config.functions.function import Refusal
from kplan.config.values.value import Number

SMALLEST: Final = -(2**63)
LARGEST: Final = 2**63 - 1


def whole_number(value: Number, *, argument: int | None = None, prefix: str = "") -> int:
    """Take a number as a 64-bit integer.

    Raises:
        Refusal: it has a fraction or does not fit.

    """
    if isinstance(value, int) and SMALLEST <= value <= LARGEST:
        return value
    reason = f"{prefix}value must be a whole number, between {SMALLEST} and {LARGEST}"
    raise Refusal(reason, argument=argument)
