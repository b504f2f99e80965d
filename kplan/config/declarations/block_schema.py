"""Arguments and nested blocks of every block but `resource` and `data`."""

from collections.abc import Mapping

from kplan.config.declarations.body_schema import BodySchema

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
STATE_SCHEMA = BodySchema(("backend", "topic", "key", "replication_factor"), ("backend",))
MOVED_SCHEMA = BodySchema(("from", "to"), ("from", "to"))
REMOVED_SCHEMA = BodySchema(("from",), ("from",), ("lifecycle",))
POLICY_RULE_SCHEMA = BodySchema(("condition", "message", "fix"), ("condition", "message"))
POLICY_SCHEMA = BodySchema(
    ("description", "on", "kind", "when", "level", "order", "waivers"),
    ("on",),
    ("deny", "warn", "advise"),
    label_count=1,
)
POLICIES_SCHEMA = BodySchema(("paths", "mode", "settings"))
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
}
"""Every block that may stand at the top, but for `resource`."""
