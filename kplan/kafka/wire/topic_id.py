"""Topic ids (KIP-516), written as Kafka's own tools print them."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

NO_ID = UUID(int=0)


def text(topic_id: UUID | None) -> str:
    """Write an id as 22 characters, "" for none."""
    if topic_id is None or topic_id == NO_ID:
        return ""
    return urlsafe_b64encode(topic_id.bytes).decode("ascii").rstrip("=")


def parsed(written: str) -> UUID:
    """Read an id.

    Raises:
        ValueError: it is not one.

    """
    return UUID(bytes=urlsafe_b64decode(f"{written}=="))
