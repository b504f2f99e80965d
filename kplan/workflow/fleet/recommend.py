"""Use case over many clusters: least privilege from usage, with a replay as its proof."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import is_normalized

from kplan.fleet import reads, recommend
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.insight.spans import run_day
from kplan.fleet.inventory import clusters_with_ended_log, clusters_without_log, open_clusters
from kplan.fleet.replay import replay_proof, replay_requests
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.store import Run
from kplan.fleet.wider_acls import replace_covered_acls
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.schema import from_document
from kplan.model.dataclass import dataclass
from kplan.model.resource import Identity
from kplan.model.table import Figures
from kplan.report.documents.notation import count_text
from kplan.workflow.adopt.block import generate_blocks
from kplan.workflow.fleet.fleet import render_figures
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

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

_ACL_KIND = AclKind()
_AGES = tuple(timedelta(days=days) for days in (0, 7, 30, 90, 365))
"""Ages of runs that are asked whether they have an ACL; all of a long history are too many."""
_MAX_RUNS = 62
"""Runs of a cluster that are asked at most: `first_seen` has a bit for each in a number."""
_DAY = timedelta(days=1)
_ADVICE = ("cluster", "identity", "new_identity")
_BLOCK_NAME = re.compile(rf'^resource "{_ACL_KIND.name}" "([^"]+)"', re.MULTILINE)
_NON_ASCII = r"[^\x00-\x7f]"
_REMOVE_HEADER = f"""\
# ACLs that were not used, or wider than their use. Delete their resource blocks, add this file, and
# plan: the plan deletes them.
{INSTANCES_NOTE}
"""
_NEW_HEADER = """\
# ACLs as narrow as what was used. Add this file together with the removals. With
# acl_order = "add_first" no permission is missing while ACLs are replaced.

"""
_FOREIGN_HEADER = """\
# ACLs that were not used, or wider than their use, and that kplan does not own. Add these blocks
# and apply: that changes nothing but makes kplan their owner. Then delete the blocks and plan.

"""
_HEADERS = {"remove": _REMOVE_HEADER, "narrow": _NEW_HEADER, "unmanaged": _FOREIGN_HEADER}


@dataclass(frozen=True, slots=True)
class RecommendOptions:
    """What to recommend. ACLs that were watched for less than `window` are kept.

    With `by_host` hosts are narrowed, too; `hcl` is a folder for configurations.
    """

    window: timedelta
    by_host: bool = False
    hcl: Path | None = None


def recommend_privileges(
    options: FleetOptions, ports: FleetPorts, asked: RecommendOptions
) -> Figures:
    """Recommend ACLs to remove or narrow, and replay the logs with what would be left.

    A recommendation that would deny a request is a fault of kplan: no HCL is written for its
    cluster then, and `findings` holds `denied`.
    """
    options = replace(options, names_files=asked.hcl is not None)
    with open_inputs(options, ports) as given:
        found, history, logs = given.found, given.logs, given.log_lineage
        ports.progress.stage("Comparing ACLs with usage")
        objects = given.objects
        found.keep_acls()
        made = narrower_acls(given, asked)
        goes = found.compute(made.select("cluster", "identity").distinct())
        comes = found.compute(recommend.new_acl_rows(made, objects))
        describe_jobs(found.spark, "replay the logs with the recommended ACLs")
        replayed = replay_requests(history, objects, goes, comes, found.keep_of_large)
        proof = found.compute(replay_proof(made, replayed, history))
        silent = clusters_without_log(
            given.of_fleet(objects), given.log_sums, given.logged_clusters
        )
        ended = clusters_with_ended_log(given.log_sums, _request_of(given, asked).last_end)
        values = {
            "recommendations": recommend.recommendation_table(made, objects),
            "replay": proof,
            "left_out": silent.unionByName(ended).unionByName(open_clusters(objects)),
        }
        title = "Least privilege of the fleet"
        if options.is_explain:
            return render_figures(title, values, (options, found))
        figures = render_figures(title, values, (options, found), logs)
        denied = {row["cluster"] for row in proof.where("denied > 0").collect()}
        if asked.hcl is not None:
            sound = made.where(~made["cluster"].isin(*denied)) if denied else made
            _write_hcl(found, sound, asked.hcl, (options, ports))
        notes = tuple(
            f"{name}: the recommendation would deny requests (a bug of kplan); no HCL is written."
            for name in sorted(denied)
        )
        return replace(
            figures,
            notes=(*figures.notes, *notes),
            findings=frozenset({"denied"} if denied else ()),
            remarks=given.other_logs(),
        )


def narrower_acls(given: ReportInputs, asked: RecommendOptions) -> "DataFrame":
    """Compute what should take the place of ACLs that are wider than their use: NEW_ACL_SCHEMA.

    Raises FleetError where no log was ever ingested.
    """
    request = _request_of(given, asked)
    run, now, spark = given.found.run, given.ports.now(), given.found.spark
    describe_jobs(spark, "compare ACLs with usage")
    of_clusters = {
        name: [each for each in runs_by_age(runs, run, now, asked.window) if each in runs]
        for name, runs in given.reads(reads.ACLS).items()
    }
    chosen = {run, *(each for runs in of_clusters.values() for each in runs)}
    rows = given.objects_of_runs(sorted(chosen, key=lambda each: each.at))
    known = reads.read_rows(spark, of_clusters)
    watched = recommend.watched_days(given.objects, given.logs, request)
    days = given.found.compute(recommend.days_of_window(watched, known, request.window_days))
    known = known.join(days.select("cluster"), "cluster", "left_semi")
    seen = reads.first_seen(rows, known)
    used = recommend.acl_usage(given.objects, given.logs, days, seen, request)
    made = recommend.narrow_acls(given.found.compute_few(used), request)
    made = given.found.compute(made)  # every table of it would compare again
    if not given.options.is_explain and made.where("new_identity is not null").isEmpty():
        return made
    compute = given.found.compute
    return compute(replace_covered_acls(made, given.objects, compute))


def _request_of(given: ReportInputs, asked: RecommendOptions) -> recommend.RecommendRequest:
    days = -(-asked.window // _DAY)
    return recommend.RecommendRequest(days, run_day(given.found.run), asked.by_host)


def runs_by_age(runs: Sequence[Run], run: Run, now: datetime, window: timedelta) -> list[Run]:
    """Choose the run itself, the oldest, the latest before each age, and the last of each day.

    These are of `runs` by time, which read the ACLs of one cluster: others say nothing of its ACLs.
    Days are those within the window, the latest of them: who deletes an ACL there and adds it again
    has another one.

    The window is such an age: what it lets through would else be known only of a much older run.
    So is a day more, since the day of the run that first has an ACL does not count as watched.
    """
    runs = [each for each in runs if each.at <= run.at]
    chosen = {run.attempt: run, runs[0].attempt: runs[0]} if runs else {run.attempt: run}
    for age in (*_AGES, window, window + _DAY):
        older = [each for each in runs if datetime.fromisoformat(each.at) <= now - age]
        if older:
            chosen[older[-1].attempt] = older[-1]
    by_day = {
        run_day(each): each for each in runs if datetime.fromisoformat(each.at) > now - window
    }
    for each in reversed(by_day.values()):
        if len(chosen) < _MAX_RUNS:
            chosen[each.attempt] = each
    return list(chosen.values())


def writable_advice(
    spark: "SparkSession", made: "DataFrame", note: Callable[[str], None]
) -> "DataFrame":
    """Leave out, and tell, ACLs with a name that HCL cannot have, or that need such an ACL instead.

    HCL text is read in composed form (NFC): the ACL of a block would be one for another name. In,
    out: NEW_ACL_SCHEMA.
    """
    is_doubtful = made["identity"].rlike(_NON_ASCII) | made["new_identity"].rlike(_NON_ASCII)
    doubtful = made.where(is_doubtful).select(*_ADVICE).toLocalIterator()
    found = sorted(
        {
            (cluster, identity)
            for cluster, identity, new in doubtful
            if not is_normalized("NFC", f"{identity}\n{new}")
        }
    )
    for cluster, identity in found:
        note(
            f"{cluster}: left out of the HCL, which stores text in composed form (NFC), for its "
            f"name or a narrower one is not: {identity}"
        )
    if not found:
        return made
    left_out = create_dataframe(spark, found, "cluster string, identity string")
    return made.join(left_out, ["cluster", "identity"], "left_anti")


def _write_hcl(
    found: OpenSnapshot, made: "DataFrame", folder: Path, given: tuple[FleetOptions, FleetPorts]
) -> None:
    """Write the HCL of one cluster after another: of one at a time the ACLs are in memory."""
    options, ports = given
    clusters = {
        each.name: each
        for each in options.selected_clusters(found.fleet)
        if each.configuration is not None
    }
    if not clusters:
        ports.progress.note("No cluster has a configuration: there is nothing to write HCL for.")
        return
    own = made.where(made["cluster"].isin(*clusters))
    made = writable_advice(found.spark, own, ports.progress.note)
    table = recommend.recommendation_table(made, found.objects)
    advice = recommend.advised_acls(
        table, recommend.new_acl_rows(made, found.objects), found.objects
    )
    rows = advice.orderBy(*recommend.ADVICE_ORDER)

    answers = (
        (str(name), list(own))
        for name, own in groupby(
            (each.asDict() for each in rows.toLocalIterator()), key=lambda each: each["cluster"]
        )
    )
    texts = render_clusters(found, clusters, answers, _cluster_hcl, given)
    write_hcl_files(folder, clusters, texts, _HEADERS, ports.progress.note)


def _cluster_hcl(known: ClusterState, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Write the HCL of one cluster; in: its rows of `advised_acls`."""
    held, new = (
        [from_document(Acl, json.loads(each["value"])) for each in rows if each["is_new"] is is_new]
        for is_new in (False, True)
    )
    evidence = {
        Identity(each["identity"]): _evidence_text(each) for each in rows if not each["is_new"]
    }
    return render_recommendation(known, held, new, evidence)


def _evidence_text(row: Mapping[str, Any]) -> str:
    """Write the evidence for a recommendation on one line."""
    used = count_text(row["requests"], "request")
    when = f", {row['first_at']} to {row['last_at']}" if row["requests"] else ""
    days = count_text(row["days_watched"], "day")
    return f"{row['identity']}: {used} in {days}{when}; confidence: {row['confidence']}"


def render_recommendation(
    known: ClusterState, old: Sequence[Acl], new: Sequence[Acl], evidence: Mapping[Identity, str]
) -> Mapping[str, str]:
    """Write a recommendation for one cluster as HCL, by the ending of a file.

    `remove` has `removed` blocks for owned ACLs, `narrow` blocks for the new ones, and `unmanaged`
    blocks by which ACLs that kplan does not own become its own. `evidence` is by identity.
    """
    owned = {name: each for (kind, name), each in known.owned.items() if kind == _ACL_KIND.name}
    names = [_ACL_KIND.identify(each) for each in old]
    gone = {at: evidence[each] for each in names if each in owned for at in owned[each].addresses}
    removed = render_removed(known.state, gone)
    foreign = [acl for acl, name in zip(old, names, strict=True) if name not in owned]
    comments = {name: (evidence[name],) for name in names}
    taken = known.block_names(_ACL_KIND.name)
    narrow = _render_acls(new, taken, {})
    taken.update(_BLOCK_NAME.findall(narrow))
    texts = {
        "remove": _REMOVE_HEADER + removed if removed else "",
        "narrow": _NEW_HEADER + narrow if new else "",
        "unmanaged": _FOREIGN_HEADER + _render_acls(foreign, taken, comments) if foreign else "",
    }
    return {ending: text for ending, text in texts.items() if text}


def _render_acls(
    acls: Sequence[Acl], taken: Collection[str], comments: Mapping[Identity, Sequence[str]]
) -> str:
    name = _ACL_KIND.name
    return generate_blocks({name: acls}, KINDS, {name: taken}, "acls.tf", {name: comments})
