"""A state that could not be written where it belongs, kept elsewhere."""

import shlex
import tempfile
from pathlib import Path

from kplan.model.errors import StateError
from kplan.state.atomic import write_atomically

SPARE_NAME = "errored.state"


def unwritten(reason: StateError, data: bytes, target: Path | None = None) -> StateError:
    """Keep the state in another folder than the one of `target`, and say so after the reason.

    The error is of the same class. Where nothing can be written at all, the way out is to plan
    again.
    """
    spare = _spare(data, None if target is None else target.parent)
    if spare is None:
        hint = "Plan again once that is mended: kplan adopts what it made."
        return type(reason)(reason.detail, hint)
    name = shlex.quote(str(spare))
    way = (
        f"kplan state push {name}, or after an apply: kplan apply -resume"
        if target is None
        else f"cp {name} {shlex.quote(str(target))}"
    )
    return type(reason)(
        f"{reason.detail} The new state is in {spare}.",
        f"Once that is mended, put it in place: {way}",
    )


def _spare(data: bytes, avoided: Path | None) -> Path | None:
    for folder in (Path(), Path(tempfile.gettempdir())):
        spare = folder / SPARE_NAME
        try:
            if avoided is None or not folder.samefile(avoided):
                write_atomically(spare, data)
                return spare.absolute()
        except OSError:
            continue
    return None
