"""How an owned object stands on the cluster."""

from enum import StrEnum


class Standing(StrEnum):
    """What a look at the cluster says of an object that the state owns."""

    AS_APPLIED = "as last applied"
    CHANGED = "changed"
    RECREATED = "created again by somebody else"
    GONE = "gone"
    HIDDEN = "hidden from us"
    UNREAD = "could not be read"

    @property
    def is_known(self) -> bool:
        """Whether the cluster let us see."""
        return self not in {Standing.HIDDEN, Standing.UNREAD}
