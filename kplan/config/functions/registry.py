"""The list of all functions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kplan.config.functions.collection import CHOICES, SETS
from kplan.config.functions.collection_build import BUILDERS
from kplan.config.functions.conversion import CONVERSIONS
from kplan.config.functions.date import DATES
from kplan.config.functions.document import DOCUMENTS
from kplan.config.functions.encoding import HASHES, TEXT_CODES
from kplan.config.functions.file import FILES, PATHS
from kplan.config.functions.format import FORMATTING
from kplan.config.functions.function import Function
from kplan.config.functions.network import NETWORKS
from kplan.config.functions.numeric import NUMERIC
from kplan.config.functions.regex import REGEXES
from kplan.config.functions.string import STRINGS

LAZY: Final = frozenset({"can", "try"})
"""Functions whose arguments may fail: the evaluator carries these out itself."""

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        each.name: each
        for each in (
            *BUILDERS,
            *CHOICES,
            *CONVERSIONS,
            *DATES,
            *DOCUMENTS,
            *FILES,
            *FORMATTING,
            *HASHES,
            *NETWORKS,
            *NUMERIC,
            *PATHS,
            *REGEXES,
            *SETS,
            *STRINGS,
            *TEXT_CODES,
        )
    }
)
"""Every function by its name."""
