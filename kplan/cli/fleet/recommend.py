"""`kplan fleet recommend`: ACLs as narrow as their use."""

from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class PrivilegeOptions:
    """What to recommend, and where to write it as HCL."""

    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="SPAN",
            help="Keep ACLs that were watched for less than this time.",
        ),
    ] = "720h"
    hosts: Annotated[
        bool, typer.Option("--hosts", help="Also narrow ACLs to the addresses that were used.")
    ] = False
    hcl: Annotated[
        str,
        typer.Option("--hcl", metavar="DIR", help="Write the recommendation as HCL, per cluster."),
    ] = ""


@verb(
    ("kplan fleet recommend", "List ACLs to remove or narrow, with evidence."),
    ("kplan fleet recommend -window=2160h -hcl=review", "Watch for 90 days and write HCL."),
    ("kplan fleet recommend -hosts", "Also narrow ACLs to the addresses of clients."),
)
def recommend(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    privileges: PrivilegeOptions,
    *,
    since: command.Since = "",
) -> int:
    """Recommend ACLs to remove or narrow, from logged requests.

    An unused ACL is removed. `*`, prefixes, All and User:* become the names, operations and
    principals that were used. kplan keeps Deny ACLs, ACLs that it has not known for -window, and
    all ACLs of clusters that log denials only, whose log has ended, or that allow everyone.
    Confidence is high from 90 days of logs, medium from 30. kplan then replays the same logs: no
    request may be denied.
    """
    from kplan.workflow.fleet.recommend import (  # noqa: PLC0415 - help needs none of these
        RecommendOptions,
        recommend_privileges,
    )

    window = command.parse_duration("-window", privileges.window)
    if window is None:
        raise UsageError("-window is empty.", "Write it as 720h, or 0s for no limit.")
    folder = Path(privileges.hcl) if privileges.hcl else None
    asked = RecommendOptions(window, privileges.hosts, folder)
    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: recommend_privileges(options, ports, asked),
        {"-hcl": privileges.hcl},
        since,
    )
    return command.completeness_exit(found)
