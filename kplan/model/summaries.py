"""Further summaries of codes: the words of Terraform for one use of a code.

A code is the key of its page, of SARIF rules and of documents, and has one title (`codes.py`).
People search for the words of Terraform, which differ from use to use, so a diagnostic may have
one of these. NAME is a name or a type of block.
"""

import re
from collections.abc import Iterable, Mapping

from kplan.model.codes import SUMMARIES

OTHER_SUMMARIES: Mapping[str, tuple[str, ...]] = {
    "KP103": ("Invalid single-argument block definition",),
    "KP105": (
        SUMMARIES["KP102"],
        "Missing argument separator",
        "Missing attribute separator",
        "Missing close bracket on index",
        SUMMARIES["KP112"],
        "Unbalanced parentheses",
    ),
    "KP106": ("Invalid multi-line string",),
    "KP109": ("Unexpected end of template", "Unexpected NAME directive"),
    "KP111": ("Unexpected comma after argument",),
    "KP116": (
        'Invalid "self" reference',
        SUMMARIES["KP110"],
        SUMMARIES["KP101"],
        "Missing resource instance key",
        SUMMARIES["KP144"],
    ),
    "KP123": (
        'Duplicate NAME "NAME" configuration',
        "Duplicate local value definition",
        "Duplicate module call",
        "Duplicate output definition",
        "Duplicate variable declaration",
    ),
    "KP124": (
        "Invalid check block name",
        "Invalid data resource name",
        "Invalid module instance name",
        "Invalid output name",
        "Invalid resource name",
        "Invalid variable name",
    ),
    "KP125": ("Extraneous label for NAME", "Missing name for NAME", "Missing type for NAME"),
    "KP128": ("Duplicate lifecycle block",),
    "KP129": ('Invalid combination of "count" and "for_each"',),
    "KP132": (
        SUMMARIES["KP101"],
        "Module instance keys not allowed",
        "Resource instance keys not allowed",
    ),
    "KP133": ('Invalid "moved" addresses',),
    "KP144": ('Invalid "NAME" attribute',),
    "KP145": ("Self-referential block",),
    "KP146": (SUMMARIES["KP142"],),
    "KP150": ("Null condition",),
    "KP151": ("Unexpected resource instance key",),
    "KP156": ("Invalid condition result", "Invalid variable validation result", "Null condition"),
    "KP157": ("Iteration over null value", "Splat of null value"),
    "KP161": ("Incorrect key type", "Null value as key"),
    "KP168": ("Condition is null",),
    "KP171": ("Required variable not set",),
    "KP175": ("Invalid for_each set argument",),
    "KP176": ("Incorrect value type",),
    "KP178": ("Unsuitable value type",),
    "KP179": (
        'Reference to "count" in non-counted context',
        'Reference to "each" in context without for_each',
        "each.value cannot be used in this context",
    ),
    "KP184": ("Redundant move statement",),
    "KP187": ("Removed module still exists",),
    "KP190": ('Duplicate NAME "NAME" configuration',),
    "KP194": ("Invalid module source address",),
    "KP343": ("Invalid legacy variable type hint",),
    "KP570": (
        "Invalid NAME expression",
        "Invalid check assertion expression",
        "Invalid variable validation condition",
    ),
}


def codes_of_summary(summary: str) -> tuple[str, ...]:
    """Return the codes that are reported with a summary, its names filled in or not."""
    return tuple(
        code
        for code, title in SUMMARIES.items()
        if _matches(summary, (title, *OTHER_SUMMARIES.get(code, ())))
    )


def _matches(summary: str, patterns: Iterable[str]) -> bool:
    forms = (re.escape(each).replace("NAME", r"[\w-]+") for each in patterns)
    return any(re.fullmatch(each, summary.strip(), re.IGNORECASE) for each in forms)
