"""Whether a space stands between two tokens of one line."""

from typing import Final

from kplan.config.format.tokens import Kind, Token

_TEMPLATE_INSIDE_AFTER: Final = frozenset({Kind.LITERAL, Kind.QUOTE_OPEN, Kind.HEREDOC_OPEN})
_TEMPLATE_INSIDE_BEFORE: Final = frozenset({Kind.LITERAL, Kind.QUOTE_CLOSE, Kind.HEREDOC_CLOSE})
_CLOSING: Final = frozenset({Kind.CLOSE, Kind.TEMPLATE_CLOSE})
_OPENING: Final = frozenset({Kind.OPEN, Kind.TEMPLATE_OPEN})
_BEFORE_NEGATION: Final = frozenset(
    {"(", "{", "[", "=", ":", ",", "?", "+", "*", "/", "%", "-", "!"}
    | {"==", "!=", ">", ">=", "<", "<=", "&&", "||"}
)


def is_apart(before: Token | None, left: Token, right: Token) -> bool:
    """Tell whether `left` and `right` have a space between them; `before` is what precedes both."""
    for rule in (_tight_signs, _commas, _templates, _brackets_after_names, _signs, _braces):
        decided = rule(before, left, right)
        if decided is not None:
            return decided
    return left.kind not in _OPENING and right.kind not in _CLOSING


def _tight_signs(_: Token | None, left: Token, right: Token) -> bool | None:
    """Nothing before a line's end, around points, or between a function and its arguments."""
    if right.kind is Kind.NEWLINE:
        return False
    if left.kind is Kind.NAME and right.text in ("(", "::"):
        return False
    if left.text == "::" and right.kind is Kind.NAME:
        return False
    return False if "." in (left.text, right.text) and _is_point(left, right) else None


def _is_point(left: Token, right: Token) -> bool:
    return any(each.text == "." and each.kind is Kind.OPERATOR for each in (left, right))


def _commas(_: Token | None, left: Token, right: Token) -> bool | None:
    if right.kind is Kind.OPERATOR and right.text in (",", "..."):
        return False
    return True if left.kind is Kind.OPERATOR and left.text == "," else None


def _templates(_: Token | None, left: Token, right: Token) -> bool | None:
    """Nothing is added to the text of a template."""
    inside = left.kind in _TEMPLATE_INSIDE_AFTER or right.kind in _TEMPLATE_INSIDE_BEFORE
    return False if inside else None


def _brackets_after_names(before: Token | None, left: Token, right: Token) -> bool | None:
    """Put an index close to what it indexes; `in` is a word and no name before a tuple."""
    if left.text == "in" and before is not None and before.kind is Kind.NAME:
        return True
    if right.kind is not Kind.OPEN or right.text != "[":
        return None
    is_operand = left.kind in (Kind.NAME, Kind.NUMBER) or left.kind in _CLOSING
    return False if is_operand else None


def _signs(before: Token | None, left: Token, _: Token) -> bool | None:
    """`!` and a `-` that negates stand close to their operand."""
    if left.kind is not Kind.OPERATOR:
        return None
    if left.text == "!":
        return False
    if left.text == "-":
        return before is not None and before.text not in _BEFORE_NEGATION
    return None


def _braces(_: Token | None, left: Token, right: Token) -> bool | None:
    """Braces have space inside, unless they are empty; templates only around braces."""
    opens, closes = left.text == "{", right.text == "}" and right.kind is Kind.CLOSE
    if opens or closes:
        return not (opens and closes)
    if left.kind is Kind.TEMPLATE_OPEN and right.text == "{":
        return True
    if left.kind is Kind.CLOSE and left.text == "}" and right.kind is Kind.TEMPLATE_CLOSE:
        return True
    if left.kind is Kind.TEMPLATE_CLOSE and right.kind is Kind.TEMPLATE_OPEN:
        return False
    return None
