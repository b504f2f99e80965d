"""kplan's syntax tree: the content of HCL text, with the place of every part.

Nodes are named tuples: they are made by the ten thousand, and these are the cheapest frozen values
that Python has. `start` and `end` are character offsets, the end exclusive, counted from the start
of the top-level item that the node is in (`Item.origin`): so the tree of an item does not
depend on what is above it in the file.
"""

from typing import NamedTuple, TypeAlias

from kplan.config.syntax.source import Origin


class Literal(NamedTuple):
    """A number, a string without interpolation, true, false or null."""

    start: int
    end: int
    value: object


class Name(NamedTuple):
    """A bare word that begins a reference: `var`, `each`, a resource type, a `for` variable."""

    start: int
    end: int
    name: str


class GetAttr(NamedTuple):
    """`target.name`."""

    start: int
    end: int
    target: "Node"
    name: str


class Index(NamedTuple):
    """`target[key]`, and `target.0`, which means the same."""

    start: int
    end: int
    target: "Node"
    key: "Node"


class Element(NamedTuple):
    """The element at hand inside `Splat.each`."""

    start: int
    end: int


class Splat(NamedTuple):
    """`target[*]...` or `target.*...`: `each` is read once per element, with `Element` for it."""

    start: int
    end: int
    target: "Node"
    each: "Node"


class Tuple(NamedTuple):
    """`[a, b]`."""

    start: int
    end: int
    items: "tuple[Node, ...]"


class Object(NamedTuple):
    """`{a = 1, (b) = 2}`; a bare key is a `Literal`."""

    start: int
    end: int
    items: "tuple[tuple[Node, Node], ...]"


class For(NamedTuple):
    """`[for k, v in collection : value if condition]`, and with braces, where `key` is set."""

    start: int
    end: int
    key_name: str | None
    value_name: str
    collection: "Node"
    key: "Node | None"
    value: "Node"
    condition: "Node | None"
    is_grouping: bool


class Call(NamedTuple):
    """`name(arguments)`; with `is_expanding` the last argument is written `list...`."""

    start: int
    end: int
    name: str
    name_end: int
    arguments: "tuple[Node, ...]"
    is_expanding: bool


class Unary(NamedTuple):
    """`-a` or `!a`."""

    start: int
    end: int
    operator: str
    operand: "Node"


class Binary(NamedTuple):
    """`left operator right`."""

    start: int
    end: int
    left: "Node"
    operator: str
    right: "Node"


class Conditional(NamedTuple):
    """`condition ? then : otherwise`."""

    start: int
    end: int
    condition: "Node"
    then: "Node"
    otherwise: "Node"


class Group(NamedTuple):
    """`(inner)`: it matters for object keys, splats and the span that is shown."""

    start: int
    end: int
    inner: "Node"


class Template(NamedTuple):
    """A quoted string or heredoc with parts; text parts are `Literal`s, escapes resolved."""

    start: int
    end: int
    parts: "tuple[Node, ...]"


class Wrapped(NamedTuple):
    """`"${inner}"`: nothing but one interpolation, which keeps its type."""

    start: int
    end: int
    inner: "Node"


class TemplateIf(NamedTuple):
    """`%{ if condition }...%{ else }...%{ endif }`."""

    start: int
    end: int
    condition: "Node"
    then: "Template"
    otherwise: "Template"


class TemplateFor(NamedTuple):
    """`%{ for k, v in collection }...%{ endfor }`."""

    start: int
    end: int
    key_name: str | None
    value_name: str
    collection: "Node"
    body: "Template"


Node: TypeAlias = (
    Literal
    | Name
    | GetAttr
    | Index
    | Element
    | Splat
    | Tuple
    | Object
    | For
    | Call
    | Unary
    | Binary
    | Conditional
    | Group
    | Template
    | Wrapped
    | TemplateIf
    | TemplateFor
)


class Reference(NamedTuple):
    """The static beginning of a reference: `steps` are the attribute names behind the root.

    `module.net.id` has the root `module` and the steps `("net", "id")`; steps end at the first
    index or splat.
    """

    start: int
    end: int
    root: str
    steps: tuple[str, ...]


class Attribute(NamedTuple):
    """`name = value`; `start` to `name_end` is the name. `references` are those of the value."""

    start: int
    end: int
    name: str
    name_end: int
    value: Node
    references: tuple[Reference, ...]


class Label(NamedTuple):
    """One label of a block header."""

    start: int
    end: int
    text: str


class Block(NamedTuple):
    """`type "label" { body }`; `header_end` is the offset of the brace."""

    start: int
    end: int
    type: str
    labels: tuple[Label, ...]
    header_end: int
    attributes: tuple[Attribute, ...]
    blocks: "tuple[Block, ...]"


class Item(NamedTuple):
    """One top-level block or attribute of a file.

    `is_broken` says that it has a syntax error: header and labels are right, the body is left out.
    """

    origin: Origin
    content: Block | Attribute
    is_broken: bool = False
