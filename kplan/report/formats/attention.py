"""Which blocks need the attention of a reader."""

from kplan.report.document import Block, Item, Line, Mark, Problem, Row, Rows, Table, Tone

_GOING = frozenset({Mark.REMOVE, Mark.REPLACE, Mark.SWAP})
_ALARMING = frozenset({Tone.DANGER, Tone.ERROR})


def needs_attention(block: Block) -> bool:
    """Whether something goes away, may lose data, or is an error.

    Of an `Item` that is told by what happens to it as a whole: an attribute that is taken away is
    no reason for alarm by itself.
    """
    match block:
        case Problem():
            return block.tone in _ALARMING
        case Item():
            return is_deletion(block.mark) or any(_is_alarming(each) for each in block.remarks)
        case Table():
            return any(is_deletion(each.mark) for each in block.rows)
        case Rows():
            return any(_is_alarming(each) for each in block.rows)
        case _:
            return False


def is_deletion(mark: Mark) -> bool:
    """Whether what was there is deleted, even if something comes in its place."""
    return mark in _GOING


def _is_alarming(row: Row) -> bool:
    return row.mark is Mark.ALARM and any(each.tone in _ALARMING for each in row.text)


def plain_text(text: Line) -> str:
    """Return the words of a line."""
    return "".join([each.text for each in text])
