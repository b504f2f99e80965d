"""Arguments and nested blocks of every block but `resource` and `data`."""

from collections.abc import Iterator, Mapping

from kplan.config.diagnostic import error, suggestion
from kplan.config.state_schema import STATE_ATTRIBUTES
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.syntax.tree_walk import body_start
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

RESERVED_VARIABLES = frozenset(
    {"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"}
)


@dataclass(frozen=True, slots=True)
class BodySchema:
    """Names of arguments and nested blocks that a body takes.

    `label_count` is how many labels its header has. With `is_open` any argument may be
    there. `misplaced_hints` are pairs of an argument and a hint that says where it belongs.
    """

    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    label_count: int = 0
    is_open: bool = False
    misplaced_hints: tuple[tuple[str, str], ...] = ()


def body_problems(block: ast.Block, origin: Origin, shape: BodySchema) -> Iterator[Diagnostic]:
    """Find arguments and blocks that do not belong, and those that are missing."""
    if not shape.is_open:
        for attribute in block.attributes:
            if attribute.name not in shape.arguments:
                yield _unsupported_argument(attribute, origin, shape)
    for inner in block.blocks:
        if inner.type not in shape.blocks:
            yield _unsupported_block(inner, origin, shape)
    names = {attribute.name for attribute in block.attributes}
    for name in shape.required:
        if name not in names:
            detail = f'The argument "{name}" is required.'
            yield error("KP122", body_start_range(block, origin), detail)


def body_start_range(block: ast.Block, origin: Origin) -> SourceRange:
    """Return the first character of a body, where Terraform shows what is missing in it."""
    start = body_start(block, origin)
    return origin.range(start, start + 1)


def label_problems(block: ast.Block, origin: Origin, shape: BodySchema) -> Iterator[Diagnostic]:
    """Hold the number of labels against the header that the block should have."""
    if len(block.labels) == shape.label_count:
        return
    wanted = {0: "no label", 1: "one label"}.get(shape.label_count, f"{shape.label_count} labels")
    detail = f'The block "{block.type}" takes {wanted}, got {len(block.labels)}.'
    if len(block.labels) > shape.label_count:
        extra = block.labels[shape.label_count]
        subject = origin.range(extra.start, extra.end)
        summary = f"Extraneous label for {block.type}"
    else:
        subject = origin.range(block.header_end, block.header_end + 1)
        is_type = shape.label_count > len(block.labels) + 1
        summary = f"Missing {'type' if is_type else 'name'} for {block.type}"
    yield error("KP125", subject, detail, summary=summary)


def _unsupported_argument(
    attribute: ast.Attribute, origin: Origin, shape: BodySchema
) -> Diagnostic:
    subject = origin.range(attribute.start, attribute.name_end)
    detail = f'An argument named "{attribute.name}" is not expected here.'
    if place := dict(shape.misplaced_hints).get(attribute.name):
        hint = place
    elif attribute.name in shape.blocks:
        hint = f'"{attribute.name}" is a block here: write it without =.'
    else:
        hint = suggestion(attribute.name, shape.arguments)
    return error("KP121", subject, detail, hint=hint)


_PROGRAM_BLOCKS = frozenset({"provisioner", "connection"})


def _unsupported_block(block: ast.Block, origin: Origin, shape: BodySchema) -> Diagnostic:
    subject = origin.range(block.start, block.start + len(block.type))
    detail = f'Blocks of type "{block.type}" are not expected here.'
    if block.type == "dynamic":
        detail = (
            'A "dynamic" block makes nested blocks, and there are none here that it could make.'
        )
        hint = (
            "To work out a map or list use for: config = { for key, value in ... : key => value }"
        )
    elif block.type == "data":
        detail = "A data source of kplan is of its module, and not of one check."
        hint = "Write the data block beside the check block; a failing read is an error then."
    elif block.type in _PROGRAM_BLOCKS:
        hint = "kplan runs no programs; run the script in the pipeline, behind kplan apply."
    elif block.type in shape.arguments or shape.is_open:
        hint = f'If you meant the argument "{block.type}", write {block.type} = {{ ... }}.'
    else:
        hint = suggestion(block.type, shape.blocks)
    return error("KP120", subject, detail, hint=hint)


META_ARGUMENTS = ("count", "for_each", "depends_on", "provider")
ACL_FILTERS = (
    "resource_name",
    "resource_type",
    "resource_pattern_type_filter",
    "acl_principal",
    "acl_host",
    "acl_operation",
    "acl_permission_type",
)

DATA_SCHEMAS: Mapping[str, BodySchema] = {
    "kafka_topic": BodySchema(("name", *META_ARGUMENTS), ("name",)),
    "kafka_topics": BodySchema(META_ARGUMENTS),
    "kafka_acls": BodySchema((*ACL_FILTERS, *META_ARGUMENTS)),
    "kafka_cluster": BodySchema(META_ARGUMENTS),
}


VALUE_TYPES = frozenset({"terraform_data", "null_resource", "data.terraform_remote_state"})
"""Blocks that hold values and create nothing outside; `data.TYPE` is a data source."""

_CONDITION_BLOCKS = ("precondition", "postcondition")

VARIABLE_SCHEMA = BodySchema(
    ("type", "default", "description", "sensitive", "nullable", "ephemeral", "deprecated"),
    blocks=("validation",),
    label_count=1,
)
CONDITION_SCHEMA = BodySchema(("condition", "error_message"), ("condition", "error_message"))
CHECK_SCHEMA = BodySchema(blocks=("assert",), label_count=1)
LOCALS_SCHEMA = BodySchema(is_open=True)
OUTPUT_SCHEMA = BodySchema(
    ("value", "description", "sensitive", "ephemeral", "depends_on", "deprecated"),
    ("value",),
    ("precondition",),
    label_count=1,
)
LIFECYCLE_SCHEMA = BodySchema(
    ("prevent_destroy", "ignore_changes", "create_before_destroy", "replace_triggered_by"),
    blocks=_CONDITION_BLOCKS,
)
MODULE_SCHEMA = BodySchema(
    ("source", "version", "providers", "count", "for_each", "depends_on"),
    ("source",),
    label_count=1,
    is_open=True,
)
PROVIDER_SCHEMA = BodySchema(label_count=1, is_open=True)
TERRAFORM_SCHEMA = BodySchema(
    ("required_version", "experiments"),
    blocks=("required_providers", "backend", "cloud", "provider_meta"),
)
STATE_SCHEMA = BodySchema(tuple(STATE_ATTRIBUTES), ("backend",))
MOVED_SCHEMA = BodySchema(("from", "to"), ("from", "to"))
REMOVED_SCHEMA = BodySchema(("from",), ("from",), ("lifecycle",))
POLICY_RULE_SCHEMA = BodySchema(("condition", "message", "fix"), ("condition", "message"))
POLICY_SCHEMA = BodySchema(
    ("description", "on", "kind", "when", "level", "order", "waivers"),
    ("on",),
    ("deny", "warn", "advise"),
    label_count=1,
)
POLICIES_SCHEMA = BodySchema(("paths", "mode", "settings", "allow_as"))
PLAN_SCHEMA = BodySchema(("require_signature",))
IMPORT_SCHEMA = BodySchema(("to", "id", "for_each", "provider"), ("to", "id"))

BLOCK_SCHEMAS: Mapping[str, BodySchema] = {
    "variable": VARIABLE_SCHEMA,
    "locals": LOCALS_SCHEMA,
    "output": OUTPUT_SCHEMA,
    "check": CHECK_SCHEMA,
    "module": MODULE_SCHEMA,
    "provider": PROVIDER_SCHEMA,
    "terraform": TERRAFORM_SCHEMA,
    "state": STATE_SCHEMA,
    "moved": MOVED_SCHEMA,
    "removed": REMOVED_SCHEMA,
    "import": IMPORT_SCHEMA,
    "policy": POLICY_SCHEMA,
    "policies": POLICIES_SCHEMA,
    "plan": PLAN_SCHEMA,
}
"""Every block that may be at the top, but for `resource`."""
