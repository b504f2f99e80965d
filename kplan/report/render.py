"""One subject, ready for every format: M + N instead of M x N.

Who has something new to tell makes a `Report` of it, and every format can write it. Nothing is
made before a format asks for it.
"""

from collections.abc import Callable, Mapping, Sequence

from kplan.model.dataclass import dataclass
from kplan.report.data import Case, Counts, Data, Gauge
from kplan.report.document import Document
from kplan.report.format import PLAIN_STYLE, Format, TextStyle
from kplan.report.formats.json_text import json_text, ndjson_text
from kplan.report.formats.markdown import LIMITS, render_markdown
from kplan.report.formats.text import render_text
from kplan.report.links import NO_LINKS, Links, link_diagnostics


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report on one subject.

    `document` is for people, `data` one value for programs, and `messages` the same as a stream.
    `cases` are what tools count one by one, and `gauges` numbers to watch over time.
    """

    document: Callable[[], Document]
    data: Callable[[], Data]
    cases: Callable[[], Sequence[Case]]
    messages: Callable[[], Sequence[Data]]
    counts: Counts = Counts()
    gauges: Callable[[], Sequence[Gauge]] = tuple


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What formats need to know of where they will be read.

    `limit` is how many bytes Markdown may take. `folder` leads from the top of the repository to
    the configuration, "" or ending in a slash: services show files by their place in it. `links`
    are addresses that the CI job knows. `rule_texts` gives title, explanation and fix by code,
    and `docs_url` is where the manual is, "" if nowhere.
    """

    style: TextStyle = PLAIN_STYLE
    limit: int = LIMITS["github"]
    folder: str = ""
    links: Links = NO_LINKS
    rule_texts: Callable[[], Mapping[str, tuple[str, str, str]]] = dict
    docs_url: str = ""


def render_report(report: Report, format_: Format, format_options: FormatOptions) -> str:
    """Write a report in a format; it ends with a line break unless it is empty."""
    return _WRITERS[format_](report, format_options)


def gitlab_data(counts: Counts) -> Data:
    """Write the JSON for GitLab's `artifacts:reports:terraform` in a merge request."""
    return {"create": counts.create, "update": counts.update, "delete": counts.delete}


def _html(report: Report, format_options: FormatOptions) -> str:
    from kplan.report.formats.html import render_html  # noqa: PLC0415 - each format when it is asked for

    return render_html(report.document(), format_options.links)


def _junit(report: Report, _: FormatOptions) -> str:
    from kplan.report.formats.junit import junit_xml  # noqa: PLC0415 - as above

    return junit_xml(report.cases())


def _sarif(report: Report, format_options: FormatOptions) -> str:
    from kplan.report.formats.sarif import RuleTexts, sarif_data  # noqa: PLC0415 - as above

    texts = RuleTexts(format_options.rule_texts(), format_options.docs_url)
    return json_text(sarif_data(report.cases(), format_options.folder, texts))


def _github(report: Report, format_options: FormatOptions) -> str:
    from kplan.report.formats.annotations import github_lines  # noqa: PLC0415 - as above

    return github_lines(report.cases(), format_options.folder, format_options.docs_url)


def _azure(report: Report, format_options: FormatOptions) -> str:
    from kplan.report.formats.annotations import azure_lines  # noqa: PLC0415 - as above

    return azure_lines(report.cases(), format_options.folder, format_options.docs_url)


def _prometheus(report: Report, _: FormatOptions) -> str:
    from kplan.report.formats.prometheus import prometheus_text  # noqa: PLC0415 - as above

    return prometheus_text(report.gauges())


def _slack(report: Report, format_options: FormatOptions) -> str:
    from kplan.report.formats.chat import slack_data  # noqa: PLC0415 - as above

    return json_text(slack_data(report.document(), report.cases(), format_options.links))


def _teams(report: Report, format_options: FormatOptions) -> str:
    from kplan.report.formats.chat import teams_data  # noqa: PLC0415 - as above

    return json_text(teams_data(report.document(), report.cases(), format_options.links))


_WRITERS: Mapping[Format, Callable[[Report, FormatOptions], str]] = {
    Format.TEXT: lambda report, setting: render_text(report.document(), setting.style),
    Format.MARKDOWN: lambda report, setting: render_markdown(
        report.document(), setting.limit, setting.links
    ),
    Format.HTML: _html,
    Format.JSON: lambda report, setting: json_text(
        link_diagnostics(report.data(), setting.docs_url)
    ),
    Format.NDJSON: lambda report, setting: ndjson_text(
        link_diagnostics(each, setting.docs_url) for each in report.messages()
    ),
    Format.JUNIT: _junit,
    Format.SARIF: _sarif,
    Format.GITLAB: lambda report, _: json_text(gitlab_data(report.counts)),
    Format.GITHUB: _github,
    Format.PROMETHEUS: _prometheus,
    Format.SLACK: _slack,
    Format.TEAMS: _teams,
    Format.AZURE: _azure,
}
