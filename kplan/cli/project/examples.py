"""Files that come with kplan: examples."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_EXAMPLE_FOLDERS = (_PACKAGE / "_shipped" / "examples", _PACKAGE.parent / "examples")
"""In an installed wheel, and in a checkout."""


def example_folder(name: str) -> Path:
    """Give the folder of an example.

    Raises:
        FileNotFoundError: this kplan was packaged without it.

    """
    for place in _EXAMPLE_FOLDERS:
        if (place / name).is_dir():
            return place / name
    raise FileNotFoundError(f"example {name} in {_EXAMPLE_FOLDERS[0]} or {_EXAMPLE_FOLDERS[1]}")
