"""The list of all functions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kplan.config.functions.building import BUILDERS
from kplan.config.functions.collections import CHOICES
from kplan.config.functions.conversions import CONVERSIONS
from kplan.config.functions.dates import DATES
from kplan.config.functions.documents import DOCUMENTS
from kplan.config.functions.files import FILES
from kplan.config.functions.formatting import FORMATTING
from kplan.config.functions.function import Function
from kplan.config.functions.hashes import HASHES
from kplan.config.functions.networks import NETWORKS
from kplan.config.functions.numeric import NUMERIC
from kplan.config.functions.paths import PATHS
from kplan.config.functions.regexes import REGEXES
from kplan.config.functions.setmath import SETS
from kplan.config.functions.strings import STRINGS
from kplan.config.functions.textcodes import TEXT_CODES

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
