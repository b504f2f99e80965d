"""From python-hcl2's parse tree to kplan's syntax tree."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

from kplan.config.syntax import tree as ast
from kplan.config.syntax.grammar import ParserText, SyntaxProblem
from kplan.config.syntax.template import assemble_template
from kplan.config.syntax.tree_walk import argument_references
from kplan.config.values.number import NumberError, clean_text, parse_number

# lark's Tree and Token; the module that imports lark is the parser's wall, and lark is untyped here
Tree: TypeAlias = Any
Node: TypeAlias = ast.Node

_FOR = 'After { the word "for" begins a for expression.'
_FOR_HINT = 'If it is meant as a key, write it in quotes: "for".'

_WORDS: Mapping[str, object] = {"true": True, "false": False, "null": None}


class Lowering:
    """Lowers the parse of one item. Offsets of its nodes count from the item's start."""

    def __init__(self, draft: ParserText) -> None:
        self._draft = draft

    # ---- bodies

    def content(self, start: Tree) -> ast.Block | ast.Attribute:
        """Lower the one item of a parsed text.

        Raises:
            SyntaxProblem: the parser accepts what HCL does not.

        """
        attributes, blocks = self._body("", start.children[0])
        return attributes[0] if attributes else blocks[0]

    def _body(self, of: str, body: Tree) -> tuple[tuple[ast.Attribute, ...], tuple[ast.Block, ...]]:
        attributes: dict[str, ast.Attribute] = {}
        blocks: list[ast.Block] = []
        for child in body.children:
            if child.data == "new_line_or_comment":
                continue
            if child.data == "attribute":
                attribute = self._attribute(of, child)
                self._refuse_redefined(attributes.get(attribute.name), attribute)
                attributes[attribute.name] = attribute
            else:
                blocks.append(self._block(child))
        return tuple(attributes.values()), tuple(blocks)

    def _attribute(self, of: str, found: Tree) -> ast.Attribute:
        start, end, name = self._span(found.children[0].children[0])
        value = self.node(found.children[2])
        referred = argument_references(of, name, value)
        return ast.Attribute(start, value.end, name, end, value, referred)

    def _block(self, found: Tree) -> ast.Block:
        start, _, word = self._span(found.children[0].children[0])
        *labels, brace, body, closing = [
            each
            for each in found.children[1:]
            if getattr(each, "data", "") != "new_line_or_comment"
        ]
        attributes, blocks = self._body(word, body)
        return ast.Block(
            start,
            self._end(closing),
            word,
            tuple(self._label(each.children[0]) for each in labels),
            self._start(brace),
            attributes,
            blocks,
        )

    def _label(self, token: Any) -> ast.Label:  # noqa: ANN401 - lark's token
        quoted = self._draft.quoted.get(self._start(token))
        if quoted is None:
            return ast.Label(*self._span(token))
        return ast.Label(self._start(token), quoted.end, quoted.text or "")

    # ---- expressions

    def node(self, found: Tree) -> Node:
        """Lower one expression.

        Raises:
            SyntaxProblem: the parser accepts what HCL does not.

        """
        if found.data not in self._KINDS:  # two things in a row, and the parser takes one for a key
            token = next(found.scan_values(lambda _: True))
            start, end = self._start(token), self._end(token)
            raise self._fail("KP101", start, end, "This is not expected here.")
        return self._KINDS[found.data](self, found)

    def _term(self, found: Tree) -> Node:
        children = found.children
        if len(children) == 1:
            return self.node(children[0])
        inner = [each for each in children[1:-1] if each.data != "new_line_or_comment"]
        return ast.Group(self._start(children[0]), self._end(children[-1]), self.node(inner[0]))

    def _identifier(self, found: Tree) -> Node:
        token = found.children[0]
        quoted = self._draft.quoted.get(self._start(token))
        if quoted is not None:
            return ast.Literal(self._start(token), quoted.end, clean_text(quoted.text or ""))
        return self._name(token)

    def _name(self, token: Any) -> Node:  # noqa: ANN401 - lark's token
        """Read a name, or several joined by dots, which the parser sees as one."""
        start, end, text = self._span(token)
        if "." not in text:
            return ast.Name(start, end, text)
        first, *names = text.split(".")
        node: Node = ast.Name(start, start + len(first), first)
        for name in names:
            node = ast.GetAttr(start, node.end + 1 + len(name), node, name)
        return node

    def _word(self, found: Tree) -> Node:
        token = found.children[0]
        return ast.Literal(self._start(token), self._end(token), _WORDS[str(token)])

    def _number(self, found: Tree) -> Node:
        token = found.children[0]
        start, end = self._start(token), self._end(token)
        is_signed = token.startswith("-")
        try:
            value = parse_number(self._text(start + is_signed, end))
        except NumberError as fault:
            raise self._fail("KP101", start, end, f"{str(fault).capitalize()}.") from None
        if not is_signed:
            return ast.Literal(start, end, value)
        return self._sign(start, ast.Literal(start + 1, end, value))

    def _tuple(self, found: Tree) -> Node:
        children = found.children
        start, end = self._start(children[0]), self._end(children[-1])
        quoted = self._draft.quoted.get(start)
        items = tuple(self.node(each) for each in children[1:-1] if hasattr(each, "data"))
        if quoted is None:
            return ast.Tuple(start, end, items)
        return assemble_template(self._draft, start, quoted, items)

    def _object(self, found: Tree) -> Node:
        children = found.children
        start = self._start(children[0])
        items: list[tuple[Node, Node]] = []
        last = children[0]
        for child in children[1:-1]:
            if hasattr(child, "data"):
                if last is not None and hasattr(last, "data"):
                    raise self._check_separator(child)
                items.append(self._object_item(child))
            last = child
        if items and self._is_for(items[0][0]):
            raise self._fail("KP101", items[0][0].start, items[0][0].end, _FOR, _FOR_HINT)
        return ast.Object(start, self._end(children[-1]), tuple(items))

    def _is_for(self, key: Node) -> bool:
        return self._text(key.start, key.end) == "for"

    def _object_item(self, found: Tree) -> tuple[Node, Node]:
        key = self.node(found.children[0].children[0])
        if isinstance(key, ast.Name):
            key = ast.Literal(key.start, key.end, key.name)
        elif isinstance(key, ast.Literal) and key.value is None:
            key = ast.Literal(key.start, key.end, "null")
        elif isinstance(key, ast.GetAttr | ast.Index) and not _is_connection(key):
            detail = "A reference as a key is ambiguous."
            hint = "Put it in parentheses to use its value, in quotes to use its text."
            raise self._fail("KP161", key.start, key.end, detail, hint)
        return key, self.node(found.children[2])

    def _call(self, found: Tree) -> Node:
        tokens = found.children
        opening = next(at for at, each in enumerate(tokens) if str(each) == "(")
        words = [each.children[0] for each in tokens[:opening] if hasattr(each, "data")]
        start, name_end = self._start(words[0]), self._end(words[-1])
        if start in self._draft.quoted or "." in self._text(start, name_end):
            detail = "Only functions can be called, by their plain names."
            raise self._fail("KP101", start, name_end, detail)
        arguments: list[Node] = []
        is_expanding = False
        for each in tokens[opening + 1 : -1]:
            for argument in getattr(each, "children", ()):
                if hasattr(argument, "data"):
                    arguments.append(self.node(argument))
                elif argument == "...":
                    is_expanding = True
        name = "::".join(self._span(each)[2] for each in words)
        end = self._end(tokens[-1])
        return ast.Call(start, end, name, name_end, tuple(arguments), is_expanding)

    def _for(self, found: Tree) -> Node:
        intro, *rest = found.children[1:-1]
        names = [each.children[0] for each in intro.children if _is(each, "identifier")]
        for name in names:
            if self._start(name) in self._draft.quoted or "." in self._span(name)[2]:
                detail = "A for expression gives plain names, without quotes and dots."
                raise self._fail("KP101", self._start(name), self._end(name), detail)
        key_name, value_name = ([None] + [self._span(each)[2] for each in names])[-2:]
        collection = next(each for each in intro.children if _is_expression(each))
        values = [self.node(each) for each in rest if _is_expression(each)]
        conditions = [self.node(each.children[-1]) for each in rest if _is(each, "for_cond")]
        return ast.For(
            self._start(found.children[0]),
            self._end(found.children[-1]),
            key_name,
            value_name or "",
            self.node(collection),
            values[0] if len(values) == 2 else None,  # noqa: PLR2004 - key and value
            values[-1],
            conditions[0] if conditions else None,
            any(each == "..." for each in rest),
        )

    def _conditional(self, found: Tree) -> Node:
        condition, then, otherwise = (
            self.node(each) for each in found.children if _is_expression(each)
        )
        return ast.Conditional(condition.start, otherwise.end, condition, then, otherwise)

    def _binary(self, found: Tree) -> Node:
        """Lower a chain of operators from the left, without recursion: it may be long."""
        terms = []
        while found.data == "binary_op":
            terms.append(found.children[1])
            found = found.children[0]
        left = self.node(found)
        for term in reversed(terms):
            token = term.children[0].children[0]
            operator = self._draft.signs.get(self._start(token), str(token))
            right = self.node(term.children[-1])
            left = ast.Binary(left.start, right.end, left, operator, right)
        return left

    def _unary(self, found: Tree) -> Node:
        return self._sign(self._start(found.children[0]), self.node(found.children[1]))

    def _sign(self, start: int, node: Node) -> Node:
        # A sign right behind a value has none written down: that it lacks a comma is told above.
        for sign in reversed(self._draft.signs.get(start, "")):
            node = ast.Unary(start, node.end, sign, node)
        return node

    # ---- what is behind a term

    def _postfix(self, found: Tree) -> Node:
        """Lower a chain of attributes, indexes and splats: `a[*].b.c[0]`."""
        steps: list[Tree] = []
        while True:
            steps.append(found.children[1])
            inner = found.children[0].children
            if len(inner) != 1 or not inner[0].data.endswith(("get_attr_expr_term", "_expr_term")):
                break
            if self._KINDS.get(inner[0].data) is not Lowering._postfix:
                break
            found = inner[0]
        target = self.node(found.children[0])
        flat: list[Tree] = []
        for step in reversed(steps):
            if step.data in {"attr_splat", "full_splat"}:
                flat.extend(step.children)
            else:
                flat.append(step)
        return self._chain(target, flat)

    def _chain(self, target: Node, steps: list[Any]) -> Node:
        for at, step in enumerate(steps):
            if step == "[*]":
                return self._full_splat(target, step, steps[at + 1 :])
            if step == ".*":
                return self._attribute_splat(target, step, steps[at + 1 :])
            target = self._step(target, step)
        return target

    def _full_splat(self, target: Node, token: Any, rest: list[Any]) -> Node:  # noqa: ANN401
        each = self._chain(ast.Element(self._start(token), self._end(token)), rest)
        return ast.Splat(target.start, max(each.end, self._end(token)), target, each)

    def _attribute_splat(self, target: Node, token: Any, rest: list[Any]) -> Node:  # noqa: ANN401
        """`.*` takes attributes only: an index behind them is outside of it."""
        each: Node = ast.Element(self._start(token), self._end(token))
        taken = 0
        while taken < len(rest) and _is(rest[taken], "get_attr"):
            each = self._step(each, rest[taken])
            taken += 1
        if taken < len(rest) and rest[taken] == ".*":
            nested = rest[taken]
            detail = "One .* cannot follow another."
            hint = "Write [*] for both."
            raise self._fail("KP101", self._start(nested), self._end(nested), detail, hint)
        splat = ast.Splat(target.start, each.end, target, each)
        return self._chain(splat, rest[taken:])

    def _step(self, target: Node, step: Tree) -> Node:
        if step.data == "get_attr":
            token = step.children[1].children[0]
            start, end, name = self._span(token)
            if start in self._draft.quoted:
                detail = "An attribute name is not quoted."
                raise self._fail("KP101", start, self._draft.quoted[start].end, detail)
            if name.isdecimal():
                return ast.Index(target.start, end, target, ast.Literal(start, end, int(name)))
            for each in name.split("."):
                start += len(each) + 1
                target = ast.GetAttr(target.start, start - 1, target, each)
            return target
        if step.data == "short_index":  # a number behind a dot and blanks
            start, end, text = self._span(step.children[1])
            return ast.Index(target.start, end, target, ast.Literal(start, end, int(text)))
        inner = next(each for each in step.children if _is_expression(each))
        return ast.Index(target.start, self._end(step.children[-1]), target, self.node(inner))

    # ---- text and refusals

    def _start(self, token: Any) -> int:  # noqa: ANN401 - lark's token
        return int(token.start_pos)

    def _end(self, token: Any) -> int:  # noqa: ANN401 - lark's token
        return int(token.end_pos)

    def _text(self, start: int, end: int) -> str:
        return self._draft.text[self._draft.base + start : self._draft.base + end]

    def _span(self, token: Any) -> tuple[int, int, str]:  # noqa: ANN401 - lark's token
        start, end = self._start(token), self._end(token)
        return start, end, self._text(start, end)

    def _fail(self, code: str, start: int, end: int, detail: str, hint: str = "") -> SyntaxProblem:
        base = self._draft.base
        return SyntaxProblem(code, base + start, base + end, detail, hint)

    def _refuse_redefined(self, first: ast.Attribute | None, again: ast.Attribute) -> None:
        if first is None:
            return
        detail = f'The argument "{again.name}" has been set already. Each argument is set once.'
        broken = self._fail("KP113", again.start, again.name_end, detail)
        base = self._draft.base
        broken.related = (("set first", base + first.start, base + first.name_end),)
        raise broken

    def _check_separator(self, item: Tree) -> SyntaxProblem:
        here = self.node(item.children[0].children[0]).start
        detail = "The elements of an object are separated by commas or line breaks."
        return self._fail("KP112", here, here + 1, detail)

    _KINDS: ClassVar[Mapping[str, Callable[["Lowering", Tree], Node]]] = {
        "expr_term": _term,
        "identifier": _identifier,
        "keyword": _identifier,
        "literal_value": _word,
        "int_lit": _number,
        "float_lit": _number,
        "tuple": _tuple,
        "object": _object,
        "get_attr_expr_term": _postfix,
        "index_expr_term": _postfix,
        "attr_splat_expr_term": _postfix,
        "full_splat_expr_term": _postfix,
        "function_call": _call,
        "for_tuple_expr": _for,
        "for_object_expr": _for,
        "conditional": _conditional,
        "binary_op": _binary,
        "unary_op": _unary,
    }


def _is(found: Any, data: str) -> bool:  # noqa: ANN401 - lark's tree or token
    return getattr(found, "data", None) == data


_NO_EXPRESSION = frozenset({None, "new_line_or_comment", "for_cond", "for_intro", "identifier"})


def _is_expression(found: Any) -> bool:  # noqa: ANN401 - lark's tree or token
    return getattr(found, "data", None) not in _NO_EXPRESSION


def _is_connection(key: Node) -> bool:
    """Whether a key is `kafka.ALIAS`, as in the `providers` of a module block."""
    match key:
        case ast.GetAttr(target=ast.Name(name="kafka")):
            return True
        case _:
            return False
