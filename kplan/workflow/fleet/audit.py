"""Use cases over many clusters: usage, and HCL to remove what is unused."""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet import inventory, reads
from kplan.fleet.dataframe import Keep, ask_once
from kplan.fleet.insight.spans import run_day
from kplan.fleet.logs import requests
from kplan.fleet.reads import ACLS, TOPICS
from kplan.fleet.recommend import MAX_SILENCE
from kplan.fleet.snapshot import Row
from kplan.fleet.store import Run
from kplan.kinds import KINDS
from kplan.kinds.schema import from_document
from kplan.model.resource import Identity
from kplan.model.table import Figures
from kplan.report.documents.notation import count_text
from kplan.workflow.adopt.block import declarable_value, generate_blocks, is_writable
from kplan.workflow.fleet.fleet import asks_first_clusters, render_figures, until_cluster
from kplan.workflow.fleet.hcl_files import write_hcl_files
from kplan.workflow.fleet.inputs import ReportInputs, open_inputs
from kplan.workflow.fleet.open_run import OpenSnapshot
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.fleet.removals import (
    INSTANCES_NOTE,
    ClusterState,
    render_clusters,
    render_removed,
)

_OWNED_HEADER = f"""\
# These objects are unused. Delete their resource blocks, add this file, and plan: the plan deletes
# them.
{INSTANCES_NOTE}"""
_UNOWNED_HEADER = """\
# These objects are unused, and kplan does not own them, so it does not delete them. To delete
# some, add their blocks and apply: that changes nothing but makes kplan their owner. Then take the
# blocks out again and plan.
"""
_HEADERS = {"unused": _OWNED_HEADER, "unmanaged": _UNOWNED_HEADER}


def render_removals(known: ClusterState, unused: Sequence[Row]) -> Mapping[str, str]:
    """Write, by the ending of a file, `removed` blocks for owned objects, and blocks for the rest.

    `unused` are rows of one cluster, `known` is the state of its configuration.
    """
    owned = known.owned
    named = {(row.kind, Identity(row.identity)): row for row in unused}
    gone = [each for key in owned.keys() & named.keys() for each in owned[key].addresses]
    removed = render_removed(known.state, dict.fromkeys(gone, ""))
    foreign = [row for key, row in sorted(named.items()) if key not in owned]
    texts = {
        "unused": f"{_OWNED_HEADER}\n{removed}" if removed else "",
        "unmanaged": _UNOWNED_HEADER + "\n" + _render_unowned(foreign, known) if foreign else "",
    }
    return {ending: text for ending, text in texts.items() if text}


def _render_unowned(rows: Sequence[Row], known: ClusterState) -> str:
    values: dict[str, list[object]] = {}
    taken: dict[str, set[str]] = {}
    for kind in KINDS:
        found = (row.value for row in rows if row.kind == kind.name and row.value is not None)
        read = (from_document(kind.schema, json.loads(each)) for each in found)
        values[kind.name] = [declarable_value(each) for each in read if is_writable(each)]
        taken[kind.name] = known.block_names(kind.name)
    return generate_blocks(values, KINDS, taken, "unmanaged.tf")


if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame


def read_usage(options: FleetOptions, ports: FleetPorts, removed: Path | None = None) -> Figures:
    """Return the last use by principals, and the unused ACLs and topics.

    With `removed` HCL is written there for review, for each cluster with a configuration: `removed`
    blocks for what kplan owns of them, and for the others resource blocks to own them first.
    """
    options = replace(options, names_files=removed is not None)
    with open_inputs(options, ports, reads_once=True) as given:
        found = given.found
        given.keeps_logs = removed is not None or not asks_first_clusters(options, found)
        history, lineage = given.logs, given.log_lineage
        idle = unused_objects(given)
        if removed is not None:
            found.keep_acls()
            idle = {name: found.keep(each) for name, each in idle.items()}  # asked twice
            rows = requests.removal_candidates(
                found.objects, idle["unused_acls"], idle["unused_topics"]
            )
            _write_removals(found, without_young(given, rows), removed, (options, ports))
        title, at = "Use of the fleet", (options, found)
        values = {"used": requests.last_usage(history), **idle}
        others = given.other_logs()
        if removed is not None:
            return replace(render_figures(title, values, at, lineage), remarks=others)

        def first_tables(last: str) -> "Mapping[str, DataFrame]":
            objects, used = (until_cluster(each, last) for each in (given.objects, history))
            return {"used": requests.last_usage(used), **_unused_tables(given, objects, used)}

        def keep(names: AbstractSet[str]) -> None:
            if "unused_acls" in names:
                found.keep_acls()
            if len(names - {"unheard"}) > 1 and not given.keeps_logs:
                found.keep(history)

        made = render_figures(
            title, values, at, lineage, first_tables=first_tables, before_whole=keep
        )
        return replace(made, remarks=others)


def unused_objects(given: ReportInputs, keep: Keep = ask_once) -> "dict[str, DataFrame]":
    """Return the unused objects, and the clusters for whose ACLs usage is unknown.

    `keep` gets the unused objects before they are in order. Raises FleetError where no log was ever
    ingested.
    """
    objects = given.of_fleet(given.objects)
    unheard = inventory.clusters_without_log(objects, given.log_sums, given.logged_clusters)
    return {**_unused_tables(given, given.objects, given.logs, keep), "unheard": unheard}


def _unused_tables(
    given: ReportInputs, objects: "DataFrame", used: "DataFrame", keep: Keep = ask_once
) -> "dict[str, DataFrame]":
    sums = given.log_sums
    return {
        "unused_acls": requests.unused_acls(objects, used, sums, keep),  # of clusters with a log
        "unused_topics": given.of_fleet(requests.unused_topics(objects, used, sums, keep)),
    }


def without_young(given: ReportInputs, unused: "DataFrame") -> "DataFrame":
    """Leave out, and tell, objects that may be younger than the log that does not name them.

    These are in no run before the last day of their log; where none is so old, not in the first
    one; and where that is long after the log, they are all of a cluster. In, out: rows of the run.
    """
    ends = requests.log_ends(given.log_sums)
    before = {
        (cluster, kind): _run_before(runs, ends[cluster])
        for kind in (ACLS, TOPICS)
        for cluster, runs in sorted(given.reads(kind).items())
        if cluster in ends
    }
    older = {place: each for place, each in before.items() if each != given.found.run}
    if not older:
        return unused
    names = {place: each.run if each else "" for place, each in older.items()}
    runs = {each or given.found.run for each in older.values()}
    held = given.objects_of_runs(sorted(runs, key=lambda each: each.at))
    marked = reads.mark_young(unused, held, names)
    for row in marked.where("is_young").groupBy("cluster").count().orderBy("cluster").collect():
        name = row["cluster"]
        given.ports.progress.note(
            f"{name}: left out of the HCL: {count_text(row['count'], 'object')} that may be "
            f"younger than the log, which ends on {ends[name]}."
        )
    return marked.where("not is_young").select(*unused.columns).orderBy(*requests.REMOVAL_ORDER)


def _run_before(runs: Sequence[Run], end: date) -> Run | None:
    """Choose the last of runs before the day on which a log ends, else the first; None long after.

    In: runs by age.
    """
    older = [each for each in runs if run_day(each) < end]
    if older:
        return older[-1]
    return runs[0] if run_day(runs[0]) - end <= MAX_SILENCE else None


def _write_removals(
    found: OpenSnapshot,
    candidates: "DataFrame",
    folder: Path,
    given: tuple[FleetOptions, FleetPorts],
) -> None:
    options, ports = given
    clusters = {
        each.name: each
        for each in options.selected_clusters(found.fleet)
        if each.configuration is not None
    }
    if not clusters:
        ports.progress.note("No cluster has a configuration: there is nothing to write HCL for.")
        return
    rows = (Row(*each) for each in candidates.select(*Row._fields).toLocalIterator())
    answers = ((name, list(own)) for name, own in groupby(rows, key=lambda each: each.cluster))
    texts = render_clusters(found, clusters, answers, render_removals, given)
    write_hcl_files(folder, clusters, texts, _HEADERS, ports.progress.note)
