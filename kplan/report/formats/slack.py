"""A message as Slack's incoming webhooks take it, and Mattermost's and Rocket.Chat's too."""

from collections.abc import Iterable, Iterator

from kplan.model.table import RunStatus
from kplan.report.data import Case, Data
from kplan.report.document import Document, Totals, plain_text

MAX_CASES = 20


def slack_data(document: Document, cases: Iterable[Case]) -> Data:
    """Say the result, and name the first of what went wrong."""
    return {"text": "\n".join((f"*{_escape(document.title)}*", *_lines(document, cases)))}


def _lines(document: Document, cases: Iterable[Case]) -> Iterator[str]:
    for block in document.blocks:
        if isinstance(block, Totals):
            yield from (_escape(plain_text(each)) for each in block.lines)
    bad = [each for each in cases if each.status in {RunStatus.FAIL, RunStatus.ERROR}]
    for each in bad[:MAX_CASES]:
        yield f"\u2022 `{_escape(each.name).replace('`', chr(39))}`: {_escape(each.message)}"
    if (more := len(bad) - MAX_CASES) > 0:
        yield f"and {more:,} more"


def _escape(text: str) -> str:
    """Write what Slack would take for a link, a mention or a channel as itself."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
