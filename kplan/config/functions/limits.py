"""How large a result may get before a function refuses to build it."""

from typing import Final

from kplan.config.functions.function import Refusal

MAX_TEXT: Final = 16 * 2**20
"""Characters of one string."""

MAX_ELEMENTS: Final = 1_000_000
"""Elements of one collection."""


def check_text(length: int) -> None:
    """Refuse to build a string of this length if it is too long."""
    if length > MAX_TEXT:
        raise Refusal(f"the result would have {length} characters, more than {MAX_TEXT}")


def check_elements(count: int) -> None:
    """Refuse to build a collection of this size if it is too large."""
    if count > MAX_ELEMENTS:
        raise Refusal(f"the result would have {count} elements, more than {MAX_ELEMENTS}")
