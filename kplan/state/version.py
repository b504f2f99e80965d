"""Which kplan writes the files of this room."""


def kplan_version() -> str:
    """Tell the installed version; "0" when run from a source tree that was never installed."""
    from importlib.metadata import (  # noqa: PLC0415 - slow, and only needed when writing
        PackageNotFoundError,
        version,
    )

    try:
        return version("kplan")
    except PackageNotFoundError:
        return "0"
