"""The formats of reports by name, and the style of terminal text."""

from enum import StrEnum

from kplan.model.dataclass import dataclass


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
    TEAMS = "teams"


ALL_FORMATS = frozenset(Format)
UNCOUNTED_FORMATS = ALL_FORMATS - {Format.GITLAB}
"""The formats of what changes no objects: GitLab's report counts nothing else."""
ANSWER_FORMATS = frozenset({Format.TEXT, Format.MARKDOWN, Format.HTML, Format.JSON, Format.NDJSON})
"""The formats of an answer to a question: there is nothing in it to gate or to point at."""


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How text is to look. `width` is in columns.

    Without `unicode` only ASCII is written. `accessible` writes words instead of symbols.
    `docs_url` is where the manual is, "" if nowhere.
    """

    width: int = 80
    colour: bool = False
    unicode: bool = True
    accessible: bool = False
    docs_url: str = ""


PLAIN_STYLE = TextStyle()
"""What goes into a file or a pipe."""
