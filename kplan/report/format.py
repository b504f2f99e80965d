"""The formats of reports by name, and which of them suit what is told."""

from enum import StrEnum


class Format(StrEnum):
    """How a report is written. GITLAB counts for a merge request; GITHUB and AZURE annotate."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    NDJSON = "ndjson"
    JUNIT = "junit"
    SARIF = "sarif"
    GITLAB = "gitlab"
    GITHUB = "github"
    AZURE = "azure"
    PROMETHEUS = "prometheus"
    SLACK = "slack"


EVERY = frozenset(Format)
COUNTLESS = EVERY - {Format.GITLAB}
"""The formats of what changes no objects: GitLab's report counts nothing else."""
ANSWERS = frozenset({Format.TEXT, Format.MARKDOWN, Format.HTML, Format.JSON, Format.NDJSON})
"""The formats of an answer to a question: there is nothing in it to gate or to point at."""
