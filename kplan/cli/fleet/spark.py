"""`kplan fleet spark start|stop|status`: a Spark that stays, for fleet commands."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions, Json
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.fleet.spark.server import SparkServer
    from kplan.workflow.fleet.spark import ServerStatus


class ServerWork(StrEnum):
    """What to do with the server."""

    START = "start"
    STOP = "stop"
    STATUS = "status"


@verb(
    ("kplan fleet spark start", "Start Spark once; fleet commands then use it."),
    ("kplan fleet spark start -conf=spark.driver.memory=4g", "Start it with more memory."),
    ("kplan fleet spark stop", "Stop it."),
    ("kplan fleet spark status -json", "Show its address and settings for scripts."),
)
def spark(
    session: Session,
    *,
    inputs: InputOptions,
    work: Annotated[ServerWork, typer.Argument(metavar="start|stop|status", help="The command.")],
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="KEY=VALUE", help="Set a property of Spark (repeatable)."),
    ] = None,
    json_: Json = False,
) -> int:
    """Keep a Spark Connect server for fleet commands.

    It runs on this machine. Fleet commands find it by themselves, so that they do not start Spark.
    It has the settings of fleet.hcl, if there is one here, and of -conf. Commands with other
    settings, -master or -remote do not use it. It listens on loopback and requires a token that
    only you can read.
    """
    from kplan.workflow.fleet.spark import (  # noqa: PLC0415 - help needs none of these
        spark_status,
        start_spark,
        stop_spark,
    )

    if conf and work is not ServerWork.START:
        raise UsageError(f"kplan fleet spark {work} does not support -conf.")
    options = command.build_options(session, SparkOptions(conf=conf or []), RunOptions(), inputs)
    if work is ServerWork.STOP:
        with show_progress(session.terminal) as progress:
            stopped = stop_spark(command.build_ports(session, progress))
        values: dict[str, object] = {"stopped": stopped is not None}
        text = "No Spark is running." if stopped is None else f"Stopped {stopped.address}."
    else:
        if work is ServerWork.START:
            with show_progress(session.terminal) as progress:
                found = start_spark(options, command.build_ports(session, progress))
        else:
            found = spark_status(options)
        values, text = _status_data(found), _status_text(found)
    session.terminal.write_stdout(json.dumps(values, sort_keys=True) if json_ else text)
    return ExitCode.DONE


def _status_data(found: "ServerStatus") -> dict[str, object]:
    """Return what is known of the server, without its token."""
    server = found.server
    if server is None:
        return {"running": False}
    return {
        "running": True,
        "address": server.address,
        "pid": server.process.pid,
        "spark": server.spark,
        "started_at": server.began_at,
        "conf": _shown_settings(server),
        "used": found.is_used,
    }


def _shown_settings(server: "SparkServer") -> dict[str, str]:
    """Return the settings of the server without credentials."""
    from kplan.fleet.spark.credentials import split_secrets  # noqa: PLC0415 - help needs none of these

    shown, secret = split_secrets(server.conf)
    return {**shown, **dict.fromkeys(secret, "(sensitive value)")}


def _status_text(found: "ServerStatus") -> str:
    server = found.server
    if server is None:
        return "No Spark is running. Start one with: kplan fleet spark start"
    what = f"Spark {server.spark} at {server.address}, process {server.process.pid}"
    head = f"Started {what}." if found.is_new else f"{what}, started at {server.began_at}."
    if found.is_used:
        use = "Fleet commands use it."
    elif found.names_other:
        use = "Fleet commands do not use it here: fleet.hcl or SPARK_REMOTE names another Spark."
    else:
        use = (
            "Fleet commands do not use it here: it was started with other settings. Start it "
            "again: kplan fleet spark stop, kplan fleet spark start."
        )
    conf = "".join(
        f"\n  {name} = {value}" for name, value in sorted(_shown_settings(server).items())
    )
    return f"{head} {use}{conf}"
