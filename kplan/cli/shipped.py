"""Files that come with kplan: examples."""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_PLACES = (_PACKAGE / "_shipped" / "examples", _PACKAGE.parent / "examples")
"""In an installed wheel, and in a checkout."""


def example(name: str) -> Path:
    """Give the folder of an example.

    Raises:
        FileNotFoundError: this kplan was packaged without it.

    """
    for place in _PLACES:
        if (place / name).is_dir():
            return place / name
    raise FileNotFoundError(f"example {name} in {_PLACES[0]} or {_PLACES[1]}")
