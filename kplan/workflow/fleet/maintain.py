"""Use cases over many clusters: retention and compaction of what a fleet has stored."""

from datetime import timedelta
from typing import NamedTuple

from kplan.fleet.spark.session import open_session
from kplan.workflow.fleet.fleet import choose_engine, open_store, read_fleet
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts


class VacuumResult(NamedTuple):
    """How much a vacuum removed."""

    runs: int
    logs: int


def vacuum_store(
    options: FleetOptions, ports: FleetPorts, runs: timedelta, logs: timedelta | None
) -> VacuumResult:
    """Remove older runs and logs, and leftovers of broken runs.

    None keeps all logs. Raises FleetError.
    """
    fleet = read_fleet(options)
    with open_session(
        choose_engine(fleet, options.engine), ports.progress, options.command
    ) as spark:
        store, now = open_store(spark, fleet), ports.now()
        store.check_removal()
        gone = 0 if logs is None else store.vacuum_logs(logs, now)
        return VacuumResult(store.vacuum(runs, now), gone)


class MaintainResult(NamedTuple):
    """How much maintenance changed: `merged` are stored ingests that are one now."""

    merged: int
    replaced: int
    removed: VacuumResult


def maintain_store(
    options: FleetOptions, ports: FleetPorts, runs: timedelta, logs: timedelta | None
) -> MaintainResult:
    """Merge the rows of all ingests, and remove what that replaced, and older runs and logs.

    None keeps all logs. Raises FleetError.
    """
    fleet = read_fleet(options)
    ports.progress.stage("Starting Spark")
    with open_session(
        choose_engine(fleet, options.engine), ports.progress, options.command
    ) as spark:
        store, now = open_store(spark, fleet), ports.now()
        store.check_removal()  # what is merged is written again, and must go once it is replaced
        ports.progress.stage("Merging the rows of logs")
        old = None if logs is None else store.logs.old_rows(now - logs)
        merged = store.logs.compact(old)
        replaced = store.logs.remove_merged(now)
        removed = store.vacuum(runs, now) if store.attempts() else 0
        store.optimize()
        return MaintainResult(merged, replaced, VacuumResult(removed, old.logs if old else 0))
