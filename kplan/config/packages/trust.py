"""Hold the lock file of a change that is not trusted against the trusted one."""

from collections.abc import Iterator
from pathlib import Path

from kplan.config.diagnostic import error
from kplan.config.inputs import Trust
from kplan.config.packages.lock import LOCK_FILE, ModuleLock, read_lock
from kplan.model.diagnostic import Diagnostic


def lock_problems(folder: Path, trust: Trust) -> Iterator[Diagnostic]:
    """Refuse modules that a change which is not trusted brings in."""
    try:
        own = read_lock(folder)
        trusted = read_lock(trust.ref) if trust.ref is not None else ModuleLock()
    except ValueError as fault:
        yield damaged_lock(str(fault))
        return
    if own == trusted:
        return
    if trust.ref is None:
        detail = f"{LOCK_FILE} names modules, and there is no trusted one to compare it with."
        hint = "Give a checkout of the branch that the change is for with -trusted-ref=DIR."
        yield error("KP505", None, detail, hint=hint)
        return
    names = sorted(
        name
        for name in {*own.packages, *trusted.packages}
        if own.packages.get(name) != trusted.packages.get(name)
    )
    detail = f"{LOCK_FILE} differs from the trusted one in {', '.join(names)}."
    hint = "Review the modules and merge the change of the lock file first."
    yield error("KP505", None, detail, hint=hint)


def damaged_lock(fault: str) -> Diagnostic:
    """Make the error for a lock file that cannot be read."""
    hint = f"Restore {LOCK_FILE} from git, or remove it and run kplan init."
    return error("KP503", None, f"{LOCK_FILE} cannot be used: {fault}.", hint=hint)
