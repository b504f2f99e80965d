"""A message as Slack's incoming webhooks take it, and Mattermost's and Rocket.Chat's too."""

from collections.abc import Iterable, Iterator

from kplan.model.test_result import RunStatus
from kplan.report.data import Case, Data
from kplan.report.document import Document, Totals
from kplan.report.formats.attention import plain_text

MOST = 20


def slack_data(document: Document, cases: Iterable[Case]) -> Data:
    """Say the result, and name the first of what went wrong."""
    return {"text": "\n".join((f"*{_escaped(document.title)}*", *_lines(document, cases)))}


def _lines(document: Document, cases: Iterable[Case]) -> Iterator[str]:
    for block in document.blocks:
        if isinstance(block, Totals):
            yield from (_escaped(plain_text(each)) for each in block.lines)
    bad = [each for each in cases if each.grade in {RunStatus.FAIL, RunStatus.ERROR}]
    for each in bad[:MOST]:
        yield f"\u2022 `{_escaped(each.name).replace('`', chr(39))}`: {_escaped(each.said)}"
    if (more := len(bad) - MOST) > 0:
        yield f"and {more:,} more"


def _escaped(text: str) -> str:
    """Write what Slack would take for a link, a mention or a channel as itself."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
