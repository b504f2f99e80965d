"""What the reader looks with: decided by whoever knows the terminal, never by this room."""

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """How text is to look. `width` is in columns.

    Without `unicode` only ASCII is written. `accessible` writes words instead of symbols.
    """

    width: int = 80
    colour: bool = False
    unicode: bool = True
    accessible: bool = False


PLAIN = Look()
"""What goes into a file or a pipe."""
