"""Messages for webhooks of chat services: Slack, and Microsoft Teams."""

from collections.abc import Iterable, Iterator, Sequence

from kplan.model.table import RunStatus
from kplan.report.data import Case, Data
from kplan.report.document import (
    Block,
    Document,
    Item,
    Mark,
    Table,
    Totals,
    needs_attention,
    plain_text,
)
from kplan.report.links import NO_LINKS, Links

MAX_CASES = 20
_MAX_CHANGES = 10
_MAX_HEADER = 150
_MAX_SECTION = 3_000
"""What Slack takes for the text of a header and of a section (Block Kit reference)."""
_CARD_VERSION = "1.4"


def slack_data(document: Document, cases: Iterable[Case], links: Links = NO_LINKS) -> Data:
    """Show the result, name the first changes and problems, and link to the run.

    `text` is all of it again, for notifications and for Mattermost and Rocket.Chat.
    """
    totals, bad = _totals(document), _failures(cases)
    lines = [_escape(each) for each in totals]
    lines += [f"\u2022 {_escape(each)}" for each in _change_lines(document)]
    named = [
        f"\u2022 `{_escape(each.name).replace('`', chr(39))}`: {_escape(each.message)}"
        for each in bad[:MAX_CASES]
    ]
    named += [f"and {more:,} more"] if (more := len(bad) - MAX_CASES) > 0 else []
    body = "\n".join([*lines, *named])
    text = "\n".join((f"*{_escape(document.title)}*", *lines, *named))
    return {"text": text, "blocks": list(_slack_blocks(document.title, body, links))}


def _slack_blocks(title: str, body: str, links: Links) -> Iterator[Data]:
    header: Data = {"type": "plain_text", "text": _cut(title, _MAX_HEADER), "emoji": False}
    yield {"type": "header", "text": header}
    if body:
        found: Data = {"type": "mrkdwn", "text": _cut(body, _MAX_SECTION), "verbatim": True}
        yield {"type": "section", "text": found}
    buttons: list[Data] = [
        {"type": "button", "text": {"type": "plain_text", "text": name}, "url": address}
        for name, address in links.addresses()
    ]
    if buttons:
        yield {"type": "actions", "elements": buttons}


def teams_data(document: Document, cases: Iterable[Case], links: Links = NO_LINKS) -> Data:
    """Say the same as an adaptive card, which the webhook of a Teams workflow posts."""
    bad = _failures(cases)
    body: list[Data] = [
        {
            "type": "TextBlock",
            "text": _plain(document.title),
            "weight": "Bolder",
            "size": "Medium",
            "wrap": True,
        },
        *(_text_block(each) for each in _totals(document)),
        *(_text_block(each) for each in _change_lines(document)),
        *(_text_block(f"{each.name}: {each.message}") for each in bad[:MAX_CASES]),
    ]
    if (more := len(bad) - MAX_CASES) > 0:
        body.append(_text_block(f"and {more:,} more"))
    card: dict[str, Data] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": _CARD_VERSION,
        "body": body,
    }
    actions: list[Data] = [
        {"type": "Action.OpenUrl", "title": name, "url": address}
        for name, address in links.addresses()
    ]
    if actions:
        card["actions"] = actions
    attachment: Data = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def _text_block(text: str) -> Data:
    return {"type": "TextBlock", "text": _plain(text), "wrap": True}


def _totals(document: Document) -> Sequence[str]:
    found = [each for each in document.blocks if isinstance(each, Totals)]
    return [plain_text(each) for block in found for each in block.lines]


def _change_lines(document: Document) -> Sequence[str]:
    """Say the first changes, grave ones before others."""
    ordered = sorted(document.blocks, key=lambda each: not needs_attention(each))
    found = [result for each in ordered for result in _block_lines(each)]
    more = len(found) - _MAX_CHANGES
    return [*found[:_MAX_CHANGES], *([f"and {more:,} more"] if more > 0 else [])]


def _block_lines(block: Block) -> Iterator[str]:
    match block:
        case Item(comments=(first, *_)):
            items = [plain_text(first).removeprefix("# ")]
            items += [
                text.strip() for row in block.rows if " -> " in (text := plain_text(row.text))
            ]
            yield ": ".join([items[0], ", ".join(items[1:])] if items[1:] else items)
        case Table(title=(*_, owner)):
            name = plain_text(owner.text)
            for row in block.rows:
                if row.mark is not Mark.NONE:
                    cells = [text for each in row.cells if (text := plain_text(each).strip())]
                    yield " ".join([row.mark.value, name, *cells])
        case _:
            return


def _failures(cases: Iterable[Case]) -> Sequence[Case]:
    return [each for each in cases if each.status in {RunStatus.FAIL, RunStatus.ERROR}]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _escape(text: str) -> str:
    """Escape text that Slack would read as a link, a mention or a channel."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Escape text that a card would read as a link: it supports some Markdown."""
    return text.replace("[", "\\[").replace("](", "]\\(")
