"""Codes of problems with connection settings, each with its fixed summary."""

from collections.abc import Mapping

SUMMARIES: Mapping[str, str] = {
    "KP301": "Unknown connection setting",
    "KP302": "Invalid connection setting",
    "KP303": "Missing connection setting",
    "KP304": "Connection file cannot be used",
    "KP305": "Unsupported connection setting",
    "KP306": "Connection setting has no effect",
    "KP307": "Two connections to one cluster",
    "KP308": "Brokers and controllers are both given",
}
