"""Every verb of kplan, one line each; only the verb that is run is loaded."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Annotated

import typer

from kplan.cli.arguments import OptionSpec, OptionSpecs
from kplan.cli.verb import Verb

VERBS: Mapping[str, tuple[str, str]] = {
    "init": ("project.init:init", "Begin a project, or check that one is ready to plan."),
    "validate": ("project.validate:validate", "Check the configuration without a cluster."),
    "plan": ("plan.plan:plan", "Show what apply would change."),
    "apply": ("apply.apply:apply", "Carry out a plan."),
    "destroy": ("apply.destroy:destroy", "Delete everything that kplan owns here."),
    "wait": ("apply.wait:wait", "Wait until every broker serves what was applied."),
    "drift": ("plan.drift:drift", "Tell what was changed outside of kplan."),
    "show": ("state.show:show", "Show the state, or a saved plan."),
    "output": ("state.output:output", "Show the outputs as last applied."),
    "console": ("project.console:console", "Evaluate expressions with the configuration in sight."),
    "state list": ("state.state:list_", "List the addresses that the state holds."),
    "state show": ("state.state:show", "Show one resource as last applied."),
    "state mv": ("state.state:mv", "Give a resource another address."),
    "state rm": ("state.state:rm", "Forget resources and leave them on the cluster."),
    "state pull": (
        "state.state:pull",
        "Write the state to stdout, once it has proved to be whole.",
    ),
    "state push": ("state.state:push", "Put a state in the place of the current one."),
    "state history": ("state.state:history", "List the state and its backups."),
    "state restore": ("state.state:restore", "Go back to an earlier state, from its backup."),
    "state verify": (
        "state.state:verify",
        "Compare the state with the cluster, object by object.",
    ),
    "state rebuild": ("state.state:rebuild", "Make a state anew from what is declared and live."),
    "state migrate": (
        "state.migrate:migrate",
        "Move the state to a topic of the cluster, or back.",
    ),
    "import": ("adopt.import_:import_", "Take over objects that exist on the cluster."),
    "convert": ("convert.convert:convert", "Turn YAML of other Kafka tools into HCL."),
    "lock status": ("state.lock:status", "Tell who holds the lock of the state."),
    "force-unlock": ("state.lock:force_unlock", "Remove the lock that a dead run left behind."),
    "fmt": ("project.fmt:fmt", "Lay out files in one style."),
    "test": ("test.test:test", "Test the configuration on a cluster in memory."),
    "policy list": ("policy.policy:list_", "List the policies that a plan is held against."),
    "policy test": (
        "policy.policy:test",
        "Test policies by tables of operations, without a cluster.",
    ),
    "access who-can": ("inspect.access:who_can", "Tell who may do something."),
    "access of": ("inspect.access:access_of", "Tell what somebody may do."),
    "records delete": (
        "apply.records:delete",
        "Delete records before an offset, after showing what goes.",
    ),
    "reassign status": (
        "moves.reassign:status",
        "Tell what moves, or how far the assignment of a file is.",
    ),
    "reassign cancel": (
        "moves.reassign:cancel",
        "Take moving replicas back, and their throttles away.",
    ),
    "reassign export": (
        "moves.reassign:export",
        "Write where replicas stand, as Kafka's own tool reads it.",
    ),
    "reassign import": ("moves.reassign:import_", "Move replicas to where a file says."),
    "elect preferred": ("moves.elect:preferred", "Let the first replica of partitions lead."),
    "elect unclean": (
        "moves.elect:unclean",
        "Let replicas lead that lack records, where no other is left.",
    ),
    "lint": ("policy.lint:lint", "Find what is odd about ACLs and topics, declared and live."),
    "graph": ("project.graph:graph", "Draw what refers to what in the configuration."),
    "schema": ("project.schema:schema", "Describe the blocks and attributes that kplan knows."),
    "cluster versions": (
        "inspect.cluster:versions",
        "Tell which APIs and features every broker offers.",
    ),
    "cluster describe": ("inspect.cluster:describe", "Tell id, brokers, racks and who we are."),
    "cluster controllers": ("inspect.cluster:controllers", "List the controllers of the cluster."),
    "cluster id": ("inspect.cluster:id_", "Tell the id of the cluster."),
    "quorum describe": (
        "inspect.quorum:describe",
        "Tell the leader of the metadata, and who lags.",
    ),
    "quorum add-voter": (
        "inspect.quorum:add_voter",
        "Let a controller that follows vote too (KIP-853).",
    ),
    "quorum remove-voter": (
        "inspect.quorum:remove_voter",
        "Take its vote from a controller (KIP-853).",
    ),
    "features": (
        "inspect.features:features",
        "Tell the level of each feature, and what it can be.",
    ),
    "broker unregister": (
        "inspect.broker:unregister",
        "Take a broker that is gone for good out of the cluster.",
    ),
    "topics list": ("inspect.topics:list_", "List the topics of the cluster."),
    "topics describe": (
        "inspect.topics:describe",
        "Tell id, partitions, replicas and configs of topics.",
    ),
    "topics offsets": ("inspect.topics:offsets", "Tell first and last offsets of topics."),
    "groups list": (
        "inspect.groups:list_",
        "List the groups of consumers, Connect workers and the like.",
    ),
    "groups describe": ("inspect.groups:describe", "Tell members, offsets and lag of groups."),
    "acl list": ("inspect.acl:list_", "List the ACLs of the cluster."),
    "tokens list": ("inspect.tokens:list_", "List the delegation tokens of the cluster."),
    "tokens create": (
        "inspect.tokens:create",
        "Make a delegation token, and tell its secret once.",
    ),
    "tokens renew": ("inspect.tokens:renew", "Let a delegation token be valid for longer."),
    "tokens expire": ("inspect.tokens:expire", "Let a delegation token end."),
    "errors explain": (
        "inspect.errors:explain",
        "Explain errors of Kafka, and what kplan does about them.",
    ),
    "sandbox start": ("project.sandbox:start", "Start a real Apache Kafka on this machine."),
    "sandbox stop": ("project.sandbox:stop", "Stop the sandbox."),
    "sandbox status": (
        "project.sandbox:status",
        "Tell whether the sandbox runs, and how to reach it.",
    ),
    "sandbox logs": ("project.sandbox:logs", "Show the end of a node's log."),
    "fleet snapshot": ("fleet.fleet:snapshot", "Read all clusters of the fleet, and store a run."),
    "fleet inventory": ("fleet.fleet:inventory", "Tell what is where."),
    "fleet plan": ("fleet.fleet:plan", "Hold every cluster against its configuration."),
    "fleet drift": ("fleet.fleet:drift", "Hold every cluster against what kplan last applied."),
    "fleet history": ("fleet.fleet:history", "Tell how one object changed over the runs."),
    "fleet access": ("fleet.access:access", "Tell who may do what in every cluster."),
    "fleet lint": ("fleet.access:lint", "Find ACLs that do nothing, and what policies forbid."),
    "fleet audit": ("fleet.access:audit", "Keep what authorizer logs say, and tell what was used."),
    "fleet replay": ("fleet.access:replay", "Tell which real requests plans would have denied."),
    "fleet report": ("fleet.fleet:report", "Write one page about the fleet."),
    "fleet vacuum": ("fleet.fleet:vacuum", "Remove old runs."),
    "demo": ("project.demo:demo", "Watch plan, apply and drift on a sandbox of its own."),
    "help": ("project.help:help_", "Read about a topic, or a verb."),
    "explain": ("project.help:explain", "Explain the code of a problem."),
    "version": ("project.version:version", "Tell the versions of kplan and its libraries."),
}
GROUPS: Mapping[str, str] = {
    "state": "Look at what kplan owns, and move or forget it.",
    "policy": "Rules that a plan is held against.",
    "access": "Who may do what, weighed as Kafka's authorizer does.",
    "records": "What stands in partitions.",
    "reassign": "Where replicas stand, and moving them.",
    "elect": "Who leads partitions.",
    "lock": "The lock that lets one run at a time change the state.",
    "fleet": "Many clusters at once, on Spark.",
    "cluster": "What the cluster is and can do.",
    "quorum": "The controllers that keep the metadata of the cluster.",
    "broker": "The registration of brokers.",
    "topics": "The topics of the cluster, declared or not.",
    "groups": "Who reads, and how far they have come.",
    "acl": "The ACLs of the cluster, declared or not.",
    "tokens": "Delegation tokens: secrets that stand for users for a while.",
    "errors": "What errors of Kafka mean.",
    "sandbox": "A real Apache Kafka here, for trying and for tests.",
}
HELP = """Plan and apply for Apache Kafka.

kplan compares what *.tf and *.hcl files declare with what a cluster holds, shows every change,
and carries it out. Options take one dash or two: -out=FILE, -out FILE and --out FILE are the same.
"""
GLOBAL_OPTIONS: OptionSpecs = {
    "--chdir": OptionSpec(takes_value=True),
    "--no-color": OptionSpec(takes_value=False),
    "--version": OptionSpec(takes_value=False),
    "--help": OptionSpec(takes_value=False),
    "--install-completion": OptionSpec(takes_value=False),
    "--show-completion": OptionSpec(takes_value=False),
}
"""The global options: they stand before the verb."""

_CONTEXT_SETTINGS = {"help_option_names": ["--help", "-h"], "max_content_width": 100}


def load_verb(name: str) -> Verb:
    """Load one verb by its name in VERBS."""
    module, function = VERBS[name][0].split(":")
    found: Verb = getattr(import_module(f"kplan.cli.{module}"), function)
    return found


def build_app(wanted: Callable[[str], bool], names: Iterable[str] = VERBS) -> typer.Typer:
    """Build the typer application with the verbs named.

    Those that are not wanted have a name and a summary only.
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
            target.command(last, epilog=verb.epilog())(verb.callback())
        else:
            target.command(last, help=summary)(_placeholder)
    for name, members in groups.items():
        if members.registered_commands:
            app.add_typer(members, name=name)
    return app


def _typer_group(help_text: str) -> typer.Typer:
    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_CONTEXT_SETTINGS,
    )


def _placeholder() -> None:
    raise AssertionError("a verb that is run is loaded first")


def _global_options(
    *,
    chdir: Annotated[str, typer.Option("--chdir", metavar="DIR", help="Work in this folder.")] = "",
    no_color: Annotated[bool, typer.Option("--no-color", help="Write without colour.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Tell the version and stop.")] = False,
) -> None:
    """Declare what `kplan.cli.run` reads itself, before a verb is carried out."""
