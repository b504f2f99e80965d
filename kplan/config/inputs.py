"""Values and settings that the command line and the environment give to a configuration."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import NamedTuple

from kplan.config.foreign_values import NO_FOREIGN_VALUES, ForeignValues
from kplan.config.values.value_text import Json
from kplan.model.dataclass import dataclass


class VariableText(NamedTuple):
    """The text of one variable's value; `source` is its origin: `-var x`."""

    name: str
    raw: str
    source: str


class VariableConstant(NamedTuple):
    """A value for one variable as data; `source` says where it came from."""

    name: str
    value: Json
    source: str


@dataclass(frozen=True, slots=True)
class Trust:
    """The limits of a run whose configuration is not trusted.

    Nothing outside of `repository` is read. `ref` is the folder of the configuration in a checkout
    that is trusted; None where none is given.
    """

    repository: Path
    ref: Path | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of a load, in Terraform's precedence: environment, files of the folder, then these.

    `variables` are texts, data and variables files in the order in which they are given: the last
    one to name a variable wins. `values` are those that a saved plan was made with: they win over
    the environment and the folder's files. With `skips_foreign` resources of other providers are
    left out and counted, instead of being an error; `foreign` are values of such. `trust` limits
    what the configuration decides; None is no limit.
    """

    variables: tuple[VariableText | VariableConstant | Path, ...] = field(default=(), repr=False)
    _: KW_ONLY
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    values: Mapping[str, Json] = field(default_factory=dict, repr=False)
    workspace: str = "default"
    skips_foreign: bool = False
    foreign: ForeignValues = NO_FOREIGN_VALUES
    trust: Trust | None = None
