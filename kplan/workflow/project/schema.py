"""Use case: describe the language of configurations, for editors, tools and people."""

from kplan.config.declarations.body_schema import BLOCK_SCHEMAS
from kplan.config.state_schema import STATE_ATTRIBUTES
from kplan.kafka.settings.key import PROVIDER_SCHEMA
from kplan.kinds import KINDS
from kplan.model.errors import UsageError
from kplan.report import contract, project_views

_TYPED_BLOCK = "provider"
"""The block whose arguments have types, as those of resources have."""


def json_schema() -> str:
    """Return the JSON Schema of files in JSON syntax; `$defs` has one schema for each kind."""
    others = {name: shape for name, shape in BLOCK_SCHEMAS.items() if name != _TYPED_BLOCK}
    return project_views.json_schema_text(KINDS, PROVIDER_SCHEMA, others)


def provider_schema() -> str:
    """Return the schemas of kinds and provider as `terraform providers schema -json` gives them."""
    return project_views.provider_schema_json(KINDS, PROVIDER_SCHEMA)


def reference_page() -> str:
    """Return the reference of attributes as a Markdown page."""
    return project_views.reference_markdown(KINDS, PROVIDER_SCHEMA, STATE_ATTRIBUTES)


def document_schema(name: str) -> str:
    """Return the JSON Schema of a document that kplan writes. Raises UsageError."""
    try:
        return contract.document_schema(name)
    except KeyError:
        known = ", ".join(contract.DOCUMENTS)
        raise UsageError(f"-document={name} is not one of {known}.") from None
