"""Codes of problems with objects of Kafka, each with its fixed summary."""

from collections.abc import Mapping

SUMMARIES: Mapping[str, str] = {
    "KP201": "Invalid topic name",
    "KP202": "Topic names collide",
    "KP203": "Conflicting topic layout",
    "KP204": "Invalid partition count",
    "KP205": "Invalid replication factor",
    "KP206": "Invalid replica assignment",
    "KP207": "Internal topic",
    "KP208": "Invalid topic config",
    "KP211": "Partition count cannot shrink",
    "KP212": "Replication factor cannot be changed here",
    "KP213": "Replica assignment cannot be changed here",
    "KP221": "Invalid ACL",
    "KP222": "ACL matches nothing",
    "KP223": "Invalid principal",
    "KP231": "Object cannot be renamed",
    "KP232": "Object is protected from deletion",
    "KP233": "Object is hidden",
    "KP234": "Kind could not be read",
    "KP235": "Nothing is declared",
    "KP236": "Target matches nothing",
    "KP237": "Move is blocked",
    "KP238": "Cannot import non-existent object",
    "KP239": "Import does not fit",
    "KP240": "Too many deletes",
    "KP241": "The broker would refuse this change",
    "KP242": "The broker could not be asked",
}
