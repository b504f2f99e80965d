"""Puts the pieces of a template and its parsed expressions together."""

from kplan.config.syntax import tree as ast
from kplan.config.syntax.parser_text import ParserText, QuotedText, SyntaxProblem, TemplatePiece
from kplan.config.values.number import clean_text


def assemble_template(
    draft: ParserText, start: int, quoted: QuotedText, items: tuple[ast.Node, ...]
) -> ast.Node:
    """Build the node of a template from its pieces and, in the same order, their expressions.

    Raises:
        Broken: the directives do not fit together.

    """
    if len(quoted.pieces) == 1 and quoted.pieces[0].kind == "value" and not quoted.is_heredoc:
        return ast.Wrapped(start, quoted.end, items[0])
    pieces = [piece for piece in quoted.pieces if piece.kind != "text" or piece.text]
    if all(piece.kind == "text" for piece in pieces):
        text = clean_text("".join(piece.text for piece in pieces))
        return ast.Literal(start, quoted.end, text)
    builder = _Builder(draft, pieces, items)
    parts, stopped = builder.parts(frozenset())
    if stopped is not None:
        raise builder.broken(
            stopped, f'There is no directive open that "{stopped.kind}" could end.'
        )
    return ast.Template(start, quoted.end, parts)


class _Builder:
    def __init__(
        self, draft: ParserText, pieces: list[TemplatePiece], items: tuple[ast.Node, ...]
    ) -> None:
        self._draft = draft
        self._pieces = iter(pieces)
        self._items = iter(items)

    def parts(self, stops: frozenset[str]) -> tuple[tuple[ast.Node, ...], TemplatePiece | None]:
        """Take parts up to one of the stops, or up to a directive that has no business here."""
        parts: list[ast.Node] = []
        for piece in self._pieces:
            match piece.kind:
                case "text":
                    parts.append(ast.Literal(piece.start, piece.end, piece.text))
                case "value":
                    parts.append(next(self._items))
                case "if":
                    parts.append(self._if(piece))
                case "for":
                    parts.append(self._for(piece))
                case kind if kind in stops or not stops:
                    return tuple(parts), piece
                case _:
                    raise self.broken(piece, f'"{piece.kind}" does not end what is open here.')
        return tuple(parts), None

    def _if(self, piece: TemplatePiece) -> ast.Node:
        condition = next(self._items)
        then, stopped = self._template(piece, frozenset({"else", "endif"}))
        otherwise = ast.Template(stopped.end, stopped.end, ())
        if stopped.kind == "else":
            otherwise, stopped = self._template(piece, frozenset({"endif"}))
        return ast.TemplateIf(piece.start, stopped.end, condition, then, otherwise)

    def _for(self, piece: TemplatePiece) -> ast.Node:
        collection = next(self._items)
        body, stopped = self._template(piece, frozenset({"endfor"}))
        names = piece.key_name, piece.value_name
        return ast.TemplateFor(piece.start, stopped.end, *names, collection, body)

    def _template(
        self, opening: TemplatePiece, stops: frozenset[str]
    ) -> tuple[ast.Template, TemplatePiece]:
        parts, stopped = self.parts(stops)
        if stopped is None:
            told = f'The directive "{opening.kind}" is never ended by "end{opening.kind}".'
            raise self.broken(opening, told)
        start = parts[0].start if parts else stopped.start
        return ast.Template(start, stopped.start, parts), stopped

    def broken(self, piece: TemplatePiece, detail: str) -> SyntaxProblem:
        """Make the error that a directive does not fit."""
        base = self._draft.base
        return SyntaxProblem("KP109", base + piece.start, base + piece.end, detail)
