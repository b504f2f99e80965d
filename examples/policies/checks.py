"""A policy in Python: it looks at the names of all topics of the cluster."""

from typing import Any


class OneSpelling:
    """No two topics of a domain differ only in case, dots, dashes or underscores."""

    name = "one_spelling"
    level = "soft"

    def configure(self, settings: dict[str, Any]) -> None:
        """Take the settings of the policies block."""
        self.domains = tuple(settings.get("domains", ()))

    def validate_create_topic(self, request: Any, cluster: Any) -> None:
        """Refuse a second spelling of a name."""
        if not request.topic.startswith(self.domains):
            return
        same = [
            each
            for each in cluster.topics()
            if each != request.topic and _plain(each) == _plain(request.topic)
        ]
        if same:
            raise ValueError(f"{request.topic} is {same[0]} in another spelling")


def _plain(name: str) -> str:
    return name.casefold().replace("-", ".").replace("_", ".")
