"""Every verb of kplan, one line each; only the verb that is run is loaded."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Annotated

import typer

from kplan.cli.arguments import OptionSpec, OptionSpecs
from kplan.cli.verb import Verb

STREAM_VERBS = frozenset(("plan", "apply", "destroy", "test", "policy test", "console"))
"""Verbs whose -json is one message a line; that of others is one document, also of an error."""

VERBS: Mapping[str, tuple[str, str]] = {
    "init": ("project.init:init", "Write the files of a new project, or check an existing one."),
    "get": ("project.get:get", "Fetch the modules that the configuration calls."),
    "validate": ("project.validate:validate", "Check the configuration without a cluster."),
    "plan": ("plan.plan:plan", "Show the changes that apply would make."),
    "apply": ("apply.apply:apply", "Make the planned changes to the cluster."),
    "destroy": ("apply.destroy:destroy", "Delete every object that the state owns."),
    "reconcile": (
        "apply.reconcile:reconcile_",
        "Keep the cluster as declared, as a service.",
    ),
    "wait": ("apply.wait:wait", "Wait until every broker serves the applied changes."),
    "drift": ("plan.drift:drift", "Detect changes made outside kplan."),
    "show": ("state.show:show", "Show the state or a saved plan."),
    "output": ("state.output:output", "Show the outputs of the last apply."),
    "console": ("project.console:console", "Evaluate expressions of the configuration."),
    "state list": ("state.state:list_", "List the resources in the state."),
    "state show": ("state.state:show", "Show one resource in the state."),
    "state mv": ("state.state:mv", "Move a resource or a module to another address in the state."),
    "state rm": ("state.state:rm", "Forget resources and leave their objects on the cluster."),
    "state pull": (
        "state.state:pull",
        "Write the state to stdout.",
    ),
    "state push": ("state.state:push", "Replace the state with a file."),
    "state history": ("state.state:history", "List the state and its backups."),
    "state restore": ("state.state:restore", "Restore an earlier state from a backup."),
    "state verify": (
        "state.state:verify",
        "Compare the state with the cluster.",
    ),
    "state rebuild": (
        "state.state:rebuild",
        "Rebuild the state from the configuration and the cluster.",
    ),
    "state migrate": (
        "state.migrate:migrate",
        "Move the state between a file, a topic and a bucket.",
    ),
    "import": ("adopt.import_:import_", "Import existing objects into the state."),
    "convert": ("convert.convert:convert", "Convert files of other Kafka tools to HCL."),
    "lock status": ("state.lock:status", "Show whether the state is locked, and by which run."),
    "force-unlock": ("state.lock:force_unlock", "Remove a lock that a stopped run left behind."),
    "fmt": ("project.fmt:fmt", "Format configuration files."),
    "test": ("test.test:test", "Test the configuration on a cluster in memory."),
    "policy list": ("policy.policy:list_", "List the policies that check a plan."),
    "policy test": (
        "policy.policy:test",
        "Test policies without a cluster.",
    ),
    "access who-can": (
        "inspect.access:who_can",
        "List the principals that can perform an operation.",
    ),
    "access of": ("inspect.access:access_of", "List the operations that a principal can perform."),
    "records delete": (
        "apply.records:delete",
        "Delete the records of partitions before an offset.",
    ),
    "reassign status": (
        "moves.reassign:status",
        "Show the progress of partition reassignments.",
    ),
    "reassign cancel": (
        "moves.reassign:cancel",
        "Cancel partition reassignments and remove their throttles.",
    ),
    "reassign export": (
        "moves.reassign:export",
        "Write the current assignment of replicas as JSON.",
    ),
    "reassign import": ("moves.reassign:import_", "Reassign partitions as a JSON file describes."),
    "reassign drain": ("moves.brokers:drain", "Move all replicas off brokers, to remove these."),
    "reassign balance": ("moves.brokers:balance", "Even out the bytes of the live brokers."),
    "elect preferred": ("moves.elect:preferred", "Elect the preferred leaders of partitions."),
    "elect unclean": (
        "moves.elect:unclean",
        "Elect out-of-sync replicas for partitions without a leader.",
    ),
    "workspace list": ("state.workspace:list_", "List the workspaces."),
    "workspace show": ("state.workspace:show", "Show the name of the selected workspace."),
    "workspace select": ("state.workspace:select", "Select a workspace for later runs."),
    "workspace new": ("state.workspace:new", "Create a workspace and select it."),
    "workspace delete": ("state.workspace:delete", "Delete the state of a workspace."),
    "lint": ("policy.lint:lint", "Find mistakes in ACLs and topics, declared and live."),
    "graph": ("project.graph:graph", "Write a graph of the references in the configuration."),
    "schema": ("project.schema:schema", "Describe the blocks and attributes of the configuration."),
    "cluster versions": (
        "inspect.cluster:versions",
        "List the APIs and features that each broker supports.",
    ),
    "cluster describe": (
        "inspect.cluster:describe",
        "Describe the cluster, its brokers and this connection.",
    ),
    "cluster controllers": ("inspect.cluster:controllers", "List the controllers of the cluster."),
    "cluster id": ("inspect.cluster:id_", "Show the id of the cluster."),
    "quorum describe": (
        "inspect.quorum:describe",
        "Describe the metadata quorum and the lag of its nodes.",
    ),
    "quorum add-voter": (
        "inspect.quorum:add_voter",
        "Add a controller to the voters of the quorum (KIP-853).",
    ),
    "quorum remove-voter": (
        "inspect.quorum:remove_voter",
        "Remove a controller from the voters (KIP-853).",
    ),
    "features": (
        "inspect.cluster:features",
        "List the features of the cluster and their levels.",
    ),
    "loggers list": ("inspect.loggers:list_", "List the loggers of a node and their levels."),
    "loggers set": ("inspect.loggers:set_", "Set levels of loggers of a node."),
    "broker unregister": (
        "inspect.cluster:unregister",
        "Unregister a broker that was shut down permanently.",
    ),
    "topics list": ("inspect.topics:list_", "List the topics of the cluster."),
    "topics describe": (
        "inspect.topics:describe",
        "Describe topics with partitions, replicas and configs.",
    ),
    "topics offsets": ("inspect.topics:offsets", "List the first and last offsets of topics."),
    "groups list": (
        "inspect.groups:list_",
        "List the groups of the cluster.",
    ),
    "groups describe": (
        "inspect.groups:describe",
        "Describe groups with members, offsets and lag.",
    ),
    "groups reset": ("groups.change:reset", "Reset the committed offsets of a consumer group."),
    "groups delete": ("groups.change:delete", "Delete groups with their committed offsets."),
    "groups delete-offsets": (
        "groups.change:delete_offsets",
        "Delete the committed offsets of a group in topics.",
    ),
    "acl list": ("inspect.acl:list_", "List the ACLs of the cluster."),
    "tokens list": ("inspect.tokens:list_", "List the delegation tokens of the cluster."),
    "tokens create": (
        "inspect.tokens:create",
        "Create a delegation token and print its secret once.",
    ),
    "tokens renew": ("inspect.tokens:renew", "Renew a delegation token."),
    "tokens expire": ("inspect.tokens:expire", "Expire a delegation token."),
    "errors explain": (
        "inspect.errors:explain",
        "Explain errors of Kafka and how kplan handles them.",
    ),
    "sandbox start": ("project.sandbox:start", "Start a real Apache Kafka on this machine."),
    "sandbox stop": ("project.sandbox:stop", "Stop the sandbox."),
    "sandbox restart": ("project.sandbox:restart", "Start nodes again with their data."),
    "sandbox status": (
        "project.sandbox:status",
        "Show whether the sandbox runs and how to connect to it.",
    ),
    "sandbox logs": ("project.sandbox:logs", "Show the end of a node's log."),
    "fleet snapshot": ("fleet.fleet:snapshot", "Read every cluster of the fleet and store a run."),
    "fleet inventory": ("fleet.fleet:inventory", "Count the objects of every cluster."),
    "fleet plan": ("fleet.fleet:plan", "Show the changes that apply would make in every cluster."),
    "fleet drift": ("fleet.fleet:drift", "Detect changes made outside kplan in every cluster."),
    "fleet history": ("fleet.fleet:history", "Show how one object changed between runs."),
    "fleet access": (
        "fleet.access:access",
        "List who can perform which operations in every cluster.",
    ),
    "fleet lint": ("fleet.access:lint", "Find ACLs without effect and violations of policies."),
    "fleet audit": ("fleet.access:audit", "Read authorizer logs and report what was used."),
    "fleet replay": ("fleet.access:replay", "List logged requests that a saved plan would deny."),
    "fleet recommend": (
        "fleet.recommend:recommend",
        "Recommend ACLs to remove or narrow, from logged requests.",
    ),
    "fleet costs": (
        "fleet.insight:costs",
        "Show what teams and owners use and cost, by month.",
    ),
    "fleet trends": (
        "fleet.insight:trends",
        "Show how partitions and bytes grow, and when they meet limits.",
    ),
    "fleet anomalies": (
        "fleet.insight:anomalies",
        "Find new principals, hosts and operations in logs, and rises.",
    ),
    "fleet report": ("fleet.fleet:report", "Write an HTML report about the fleet."),
    "fleet spark": (
        "fleet.spark:spark",
        "Keep a Spark Connect server for fleet commands.",
    ),
    "fleet maintain": (
        "fleet.fleet:maintain",
        "Merge the stored ingests, and delete old runs and requests.",
    ),
    "fleet vacuum": ("fleet.fleet:vacuum", "Delete old runs and requests."),
    "completion": (
        "project.completion:completion",
        "Write or install the completion script of a shell.",
    ),
    "demo": ("project.demo:demo", "Run plan, apply and drift on a temporary sandbox."),
    "help": ("project.help:help_", "Show a help topic or the help of a command."),
    "explain": ("project.help:explain", "Explain the code of a diagnostic."),
    "version": ("project.version:version", "Show the versions of kplan and its libraries."),
}
GROUPS: Mapping[str, str] = {
    "state": "Inspect and change the state.",
    "workspace": "Keep several states for one configuration.",
    "policy": "List and test policies.",
    "access": "Query permissions as Kafka's authorizer evaluates them.",
    "records": "Delete records of topics.",
    "reassign": "Move replicas between brokers.",
    "elect": "Elect leaders of partitions.",
    "lock": "Inspect the lock of the state.",
    "fleet": "Inspect many clusters at once with Spark.",
    "cluster": "Describe the cluster.",
    "quorum": "Describe and change the metadata quorum.",
    "broker": "Change the registration of brokers.",
    "loggers": "List and set log levels of brokers and controllers.",
    "topics": "List and describe topics, declared or not.",
    "groups": "List, describe, reset and delete groups.",
    "acl": "List ACLs, declared or not.",
    "tokens": "List, create, renew and expire delegation tokens.",
    "errors": "Explain errors of Kafka.",
    "sandbox": "Run a real Apache Kafka on this machine.",
}
HELP = """Plan and apply for Apache Kafka.

kplan compares the *.tf and *.hcl files of a folder with a Kafka cluster, shows every change, and
applies it. Options take one or two dashes: -out=FILE, -out FILE and --out FILE are the same.
"""
MAIN_SECTION = "Main commands"
SECTIONS: Mapping[str, tuple[str, ...]] = {
    MAIN_SECTION: ("init", "validate", "plan", "apply", "destroy"),
    "State": (
        "drift",
        "show",
        "output",
        "import",
        "reconcile",
        "wait",
        "state",
        "workspace",
        "lock",
        "force-unlock",
    ),
    "Cluster": (
        "cluster",
        "topics",
        "groups",
        "records",
        "quorum",
        "broker",
        "features",
        "loggers",
    ),
    "ACLs and access": ("access", "acl", "lint", "tokens"),
    "Replicas": ("reassign", "elect"),
    "Policies and tests": ("policy", "test"),
    "Fleet": ("fleet",),
    "Other": (
        "get",
        "fmt",
        "console",
        "convert",
        "graph",
        "schema",
        "sandbox",
        "demo",
        "completion",
        "help",
        "explain",
        "errors",
        "version",
    ),
}
"""The commands of the front page by subject, a group of verbs by its own name."""

TERRAFORM_VERBS: Mapping[str, tuple[str, str]] = {
    "taint": (
        "kplan has no taint command: -replace recreates a topic in one plan.",
        "Run kplan plan -replace=ADDRESS.",
    ),
    "untaint": (
        "kplan has no untaint command because nothing is marked for recreation.",
        "Run kplan plan without -replace.",
    ),
    "refresh": (
        "kplan has no refresh command: every plan reads the cluster.",
        "Run kplan drift to see changes made outside kplan.",
    ),
    "providers": (
        "kplan has no providers command because it needs no plugins.",
        "Run kplan schema for all blocks and attributes.",
    ),
    "metadata": (
        "kplan has no metadata command: expressions have the functions of Terraform.",
        "Run kplan console to try one.",
    ),
    "state replace-provider": (
        "kplan state has no command replace-provider: a state names no providers.",
        "Nothing is to be done.",
    ),
    "login": (
        "kplan has no login command: the environment or a properties file holds credentials.",
        "Run kplan help environment for all variables.",
    ),
}
"""Commands of Terraform that kplan does not have: why, and what to use instead."""

GLOBAL_OPTIONS: OptionSpecs = {
    "--chdir": OptionSpec(takes_value=True),
    "--no-color": OptionSpec(takes_value=False),
    "--version": OptionSpec(takes_value=False),
    "--help": OptionSpec(takes_value=False),
}
"""The global options, which precede the verb."""

_CONTEXT_SETTINGS = {"help_option_names": ["--help", "-h"], "max_content_width": 100}


def load_verb(name: str) -> Verb:
    """Load one verb by its name in VERBS."""
    module, function = VERBS[name][0].split(":")
    found: Verb = getattr(import_module(f"kplan.cli.{module}"), function)
    return found


def build_app(wanted: Callable[[str], bool], names: Iterable[str] = VERBS) -> typer.Typer:
    """Build the typer application with the verbs named.

    The others have a name and a summary only.
    """
    app = _typer_group(HELP)
    app.callback()(_global_options)
    groups = {name: _typer_group(summary) for name, summary in GROUPS.items()}
    for name in names:
        summary = VERBS[name][1]
        group, _, last = name.rpartition(" ")
        target = groups.get(group, app)
        if wanted(name):
            verb = load_verb(name)
            target.command(last, epilog=verb.epilog(), context_settings=_CONTEXT_SETTINGS)(
                verb.callback()
            )
        else:
            target.command(last, help=summary)(_placeholder)
    for name, members in groups.items():
        if members.registered_commands:
            app.add_typer(members, name=name)
    return app


def _typer_group(help_text: str) -> typer.Typer:
    return typer.Typer(
        help=help_text,
        add_completion=False,  # typer's scripts know neither one dash nor values of -option=
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_CONTEXT_SETTINGS,
    )


def _placeholder() -> None:
    raise AssertionError("a verb that is run is loaded first")


def _global_options(
    *,
    chdir: Annotated[
        str, typer.Option("--chdir", metavar="DIR", help="Change to this folder first.")
    ] = "",
    no_color: Annotated[bool, typer.Option("--no-color", help="Write without colour.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Declare the global options, which `kplan.cli.run` reads itself."""
