"""The topics of the manual: pages that are written, and pages made of what the code has."""

from collections.abc import Callable, Mapping

from kplan.cli.app import VERBS
from kplan.cli.code_page import code_pages, read_page
from kplan.cli.environment import PREFIXES, VARIABLES
from kplan.cli.help_text import closest
from kplan.model.errors import UsageError

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Guides": (
        "tutorial",
        "ci",
        "migrating",
        "states",
        "policies",
        "python-policies",
        "security",
        "placement",
        "services",
        "watching",
        "reports",
        "clusters",
        "platforms",
        "fleets",
        "fleet-platforms",
        "incidents",
        "library",
    ),
    "Reference": (
        "commands",
        "attributes",
        "codes",
        "environment",
        "exit-codes",
        "documents",
        "fleet-tables",
        "versions",
    ),
    "Explanation": ("planning",),
}
"""The topics in the order of the manual."""

_SUMMARIES: Mapping[str, str] = {
    "tutorial": "Declare, plan, apply and watch a cluster, step by step.",
    "ci": "Pipelines: plans of pull requests, applies of merges, drift.",
    "migrating": "Migrate from Terraform, other tools or an existing cluster.",
    "states": "Where the state is, and how to move, change and lock it.",
    "policies": "Policies that check a plan, and their tests.",
    "python-policies": "Policies in Python: methods, arguments and packaging.",
    "security": "Who is trusted with what, credentials, approval, and what files hold.",
    "placement": "Placement of replicas, reassignments and leader elections.",
    "services": "Schemas in a schema registry, and connectors of Kafka Connect.",
    "watching": "Detect drift, ignore accepted drift, and send notifications.",
    "reports": "Formats of -report and kplan show -format.",
    "clusters": "Several clusters in one configuration.",
    "platforms": "Confluent Cloud, MSK, Redpanda, Aiven, Strimzi: what each refuses of Kafka.",
    "fleets": "Many clusters at once: fleet.hcl, runs, audit logs and Spark.",
    "fleet-platforms": "Spark clusters, Spark Connect, Airflow, Kubernetes, Databricks and tables.",
    "incidents": "Brokers that are down, reassignments that do not end, lost states.",
    "library": "Use kplan from Python: plan, apply and drift as functions.",
    "commands": "All commands.",
    "attributes": "All kinds of resources and their attributes.",
    "codes": "All diagnostic codes; kplan explain CODE explains one.",
    "environment": "All environment variables.",
    "exit-codes": "The exit codes of all commands.",
    "documents": "The JSON that kplan writes for programs, and its JSON Schemas.",
    "fleet-tables": "The tables that kplan fleet stores, for queries of your own.",
    "versions": "What is stable, what a version may change, and what a release has.",
    "planning": "How a plan is made: what is compared, order, and when changes count.",
}


def help_topics() -> Mapping[str, str]:
    """Return every topic with its summary, in the order of the manual."""
    return {name: _SUMMARIES[name] for names in SECTIONS.values() for name in names}


def help_page(name: str) -> str:
    """Return the page of a topic.

    Raises:
        UsageError: the topic does not exist.

    """
    if name not in help_topics():
        topics = ", ".join(help_topics())
        meant = closest(name, [*help_topics(), *VERBS])
        suggestion = f" Did you mean kplan help {meant}?" if meant else ""
        raise UsageError(f"There is no help topic {name!r}.{suggestion}", f"Topics are {topics}.")
    made: Mapping[str, Callable[[], str]] = {
        "commands": _commands_page,
        "attributes": _attributes_page,
        "environment": _environment_page,
        "exit-codes": lambda: _EXIT_CODES,
        "codes": _codes_page,
        "documents": _documents_page,
        "fleet-tables": _fleet_tables_page,
        "platforms": _platforms_page,
    }
    return made[name]() if name in made else read_page(name)


def _format_entries(title: str, entries: Mapping[str, str]) -> str:
    width = max(len(each) for each in entries)
    lines = [f"    {name:<{width}}  {said}" for name, said in entries.items()]
    return "\n".join([f"# {title}", "", *lines]) + "\n"


def _commands_page() -> str:
    return _format_entries("Commands", {f"kplan {name}": said for name, (_, said) in VERBS.items()})


def _environment_page() -> str:
    families = {f"{name}...": said for name, said in PREFIXES.items()}
    return _format_entries("Environment", {**VARIABLES, **families})


def _codes_page() -> str:
    return _format_entries("Codes", {each.code: each.title for each in code_pages().values()})


def _attributes_page() -> str:
    from kplan.workflow.project import schema  # noqa: PLC0415 - only this page needs it

    return schema.reference_page()


def _documents_page() -> str:
    from kplan.cli.manual.documents import documents_page  # noqa: PLC0415 - only this page needs it

    return documents_page()


def _platforms_page() -> str:
    from kplan.cli.manual.platforms import platforms_page  # noqa: PLC0415 - only this page needs it

    return platforms_page()


def _fleet_tables_page() -> str:
    from kplan.cli.manual.fleet_tables import (  # noqa: PLC0415 - only this page needs it
        fleet_tables_page,
    )

    return fleet_tables_page()


_EXIT_CODES = """# Exit codes

    0    success, or no changes
    1    error
    2    changes (kplan plan -detailed-exitcode) or drift (kplan drift)

A plan that only adopts objects which exist with the declared values, and so takes
them into the state, has no changes: 0, also with -detailed-exitcode. Run kplan apply
to own them. With an import block such an object counts as a change: 2.

With -detailed-exitcode each error has its own code:

    3    refused by a policy or a guard
    4    partly applied
    5    outcome of a change is unknown
    6    state is locked, plan is stale, or wrong cluster
    7    cluster cannot be reached

After a signal: 129 SIGHUP, 130 SIGINT, 143 SIGTERM.
"""
