"""In which order ACLs that replace each other go and come: `acl_order` of the provider block."""

from collections.abc import Iterator

from kplan.config.load import Configuration
from kplan.config.modules.provider import Provider
from kplan.kafka.settings.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity

ARGUMENT = "acl_order"
ADD_FIRST, DELETE_FIRST = "add_first", "delete_first"


def add_first_connections(configuration: Configuration) -> frozenset[str]:
    """Return the keys of the connections whose provider block asks for adds before deletes."""
    return frozenset(
        each.key for each in configuration.providers if each.arguments.get(ARGUMENT) == ADD_FIRST
    )


def acl_order_diagnostics(configuration: Configuration) -> Iterator[Diagnostic]:
    """Find provider blocks that ask for an order that there is not."""
    for block in configuration.providers:
        if block.arguments.get(ARGUMENT) not in {None, ADD_FIRST, DELETE_FIRST}:
            yield _acl_order_diagnostic(block)


def _acl_order_diagnostic(block: Provider) -> Diagnostic:
    return Diagnostic(
        "KP302",
        Severity.ERROR,
        SUMMARIES["KP302"],
        f'"{ARGUMENT}" is "{DELETE_FIRST}" or "{ADD_FIRST}".',
        subject=block.ranges.get(ARGUMENT),
    )
