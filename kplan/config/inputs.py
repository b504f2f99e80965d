"""What the command line and the environment bring to a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kplan.config.values.jsonvalue import Json


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of a load, in Terraform's precedence: environment, files of the folder, then these.

    `variables` are `(name, raw text, where it came from)`; the last of a name wins. `var_files` are
    read before `variables` and after the folder's own variables files. `values` are those that a
    saved plan was made with: they win over the environment and the folder's files. With
    `skips_foreign` resources of other providers are left out and counted, instead of being an
    error.
    """

    variables: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    var_files: tuple[Path, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    values: Mapping[str, Json] = field(default_factory=dict, repr=False)
    workspace: str = "default"
    skips_foreign: bool = False
