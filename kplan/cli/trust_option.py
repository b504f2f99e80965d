"""Whom a run trusts: `-untrusted`, `-trusted-ref` and `-allow-python`, and options of policies."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.place import repository_root

if TYPE_CHECKING:
    from kplan.config.inputs import Trust

Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="PATH",
        help="Check the policies of this folder, Python file or entry point too (repeatable).",
    ),
]
Overrides = Annotated[
    list[str],
    typer.Option(
        "--override",
        metavar="POLICY=REASON",
        help="Override a refusal of a soft policy; kplan records the reason (repeatable).",
    ),
]
AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python", help="Run Python policies that the configuration or a saved plan names."
    ),
]

_MAX_NAMES = 3
_SKIPPED_FOLDERS = frozenset({".git", ".terraform", "node_modules", ".venv"})


@dataclass(frozen=True, slots=True)
class TrustOptions:
    """Whether the author of the configuration is trusted."""

    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted",
            help="Plan a change of somebody who is not trusted: read only the repository, run no "
            "Python policy of it, and take connections, state and policies from -trusted-ref.",
        ),
    ] = False
    trusted_ref: Annotated[
        str,
        typer.Option(
            "--trusted-ref",
            metavar="DIR",
            help="With -untrusted: a checkout of the branch that the change is for.",
        ),
    ] = ""

    def trust(self, folder: Path) -> "Trust | None":
        """Return the limits of a run in a folder, None if its author is trusted.

        Raises:
            UsageError: a link leads out of the repository, or there is no trusted checkout.

        """
        from kplan.config.inputs import Trust  # noqa: PLC0415 - help needs none of it

        if not self.untrusted:
            if self.trusted_ref:
                raise UsageError("-trusted-ref is for -untrusted.", "Add -untrusted.")
            return None
        root = repository_root(folder)
        if found := list(islice(_links_outside(root), _MAX_NAMES)):
            raise UsageError(
                f"The repository has links to files outside of it: {', '.join(found)}.",
                "Remove the links; with -untrusted nothing outside of the repository is read.",
            )
        if not self.trusted_ref:
            return Trust(root)
        place = Path(self.trusted_ref).resolve()
        if not place.is_dir():
            raise UsageError(f"-trusted-ref={self.trusted_ref}: there is no such folder.")
        return Trust(root, place / folder.resolve().relative_to(root))


def _links_outside(root: Path) -> Iterator[str]:
    """Name the links below a folder that lead out of it, those of links among them."""
    for at, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each not in _SKIPPED_FOLDERS]
        for name in (*folders, *files):
            path = Path(at, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                yield str(path.relative_to(root))
