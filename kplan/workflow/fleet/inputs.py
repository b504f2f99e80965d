"""What the tables of one answer are made of, each read once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kplan.fleet.dataframe import MAX_INLINE_ROWS, inline_few
from kplan.fleet.logs.requests import log_lineage, log_sums, usage_since
from kplan.fleet.reads import ACLS, TOPICS, known_reads, read_runs
from kplan.fleet.spark.session import CODEGEN_MIN_ROWS
from kplan.fleet.store import Run, add_run
from kplan.model.errors import FleetError
from kplan.workflow.fleet.fleet import filter_clusters, open_snapshot
from kplan.workflow.fleet.open_run import MAX_TASK_ROWS, OpenSnapshot, gather_rows, read_few
from kplan.workflow.fleet.owners import OwnedObjects, OwnerReader
from kplan.workflow.fleet.policies import Declarations, load_declarations
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

_MAX_NAMES = 20
"""Clusters that one message names."""


class ReportInputs:
    """What the tables of one answer are made of; each is read once, when it is first asked for.

    With `keeps_logs` Spark keeps the logs for several tables that are made of them.
    """

    def __init__(
        self,
        options: FleetOptions,
        ports: FleetPorts,
        found: OpenSnapshot,
        owners: OwnerReader,
        *,
        keeps_logs: bool = False,
    ) -> None:
        self.options, self.ports, self.found = options, ports, found
        self.keeps_logs = keeps_logs
        self._owners = owners

    @property
    def objects(self) -> "DataFrame":
        """The rows of the run. Of a large one all of them are too many to be kept in memory."""
        return self.found.objects

    def of_fleet(self, rows: "DataFrame") -> "DataFrame":
        """Keep the rows of the selected clusters that the fleet file has (decision 0168)."""
        names = [each.name for each in self.options.selected_clusters(self.found.fleet)]
        return rows.where(rows["cluster"].isin(*names))

    def other_clusters(self, names: Iterable[str]) -> tuple[str, ...]:
        """Say which of the clusters are not in the fleet file; nothing where some are selected."""
        others = sorted({*names} - {each.name for each in self.found.fleet.clusters})
        if not others or self.options.cluster_names:
            return ()
        note = (
            f"Not counted, because fleet.hcl does not have them: {_names(others)}. A renamed "
            "cluster is another cluster, whose logs are read again under its new name."
        )
        return (note,)

    def other_logs(self) -> tuple[str, ...]:
        """Say which clusters with logs are not in the fleet file; raises FleetError."""
        return self.other_clusters(self.found.store.logs.clusters)

    def clusters_without_run(self, names: Iterable[str]) -> tuple[str, ...]:
        """Say which of the selected clusters are not in the runs whose clusters are given."""
        selected = {each.name for each in self.options.selected_clusters(self.found.fleet)}
        if not (missing := sorted(selected - {*names})):
            return ()
        note = (
            "Topics are not counted, because no run of this time has the clusters: "
            f"{_names(missing)}. Take a run of all clusters: kplan fleet snapshot"
        )
        return (note,)

    @cached_property
    def _reads(self) -> Mapping[tuple[str, str], tuple[Run, ...]]:
        """The runs up to that of the answer which read a kind of a cluster, oldest first."""
        found = self.found
        runs = [each for each in found.runs if each.at <= found.run.at] or [found.run]
        places = known_reads(runs, (ACLS, TOPICS))
        if older := [each for each in runs if each.kinds_read is None]:
            for place, names in read_runs(self._rows_of_runs(older), (ACLS, TOPICS)).items():
                places.setdefault(place, set()).update(names)
        return {
            place: tuple(each for each in runs if each.run in names)
            for place, names in places.items()
            if not self.options.cluster_names or place[0] in self.options.cluster_names
        }

    def reads(self, kind: str) -> Mapping[str, tuple[Run, ...]]:
        """Return the runs that read ACLS or TOPICS of each cluster, oldest first.

        A run of some clusters, or one that met one which was down, says nothing of the others.
        """
        return {name: runs for (name, of), runs in self._reads.items() if of == kind}

    def objects_of_runs(self, runs: Sequence[Run]) -> "DataFrame":
        """Return the rows of several runs, with `run` and `at`."""
        rows = self._rows_of_runs(runs)
        if self._is_of_answer(runs):
            return rows
        count = sum(each.rows for each in runs)
        self._expect_rows(count)
        return read_few(rows, count, self.options)

    def _rows_of_runs(self, runs: Sequence[Run]) -> "DataFrame":
        found = self.found
        if self._is_of_answer(runs):
            return add_run(found.objects, found.run)
        return filter_clusters(self.options, found.store.objects_of_runs(runs))

    def _is_of_answer(self, runs: Sequence[Run]) -> bool:
        """Whether the runs are the one of the answer alone, whose rows are in memory."""
        return self.found.is_read and list(runs) == [self.found.run]

    @cached_property
    def owned(self) -> OwnedObjects:
        """What the states of all clusters own."""
        return self._owners.finish(self.found.spark)

    @cached_property
    def declarations(self) -> Declarations:
        """What is declared and owned on all clusters, and their policies."""
        return load_declarations(self.found.fleet, self.options, self.ports, self.found.objects)

    @cached_property
    def logs(self) -> "DataFrame":
        """The requests of selected clusters and time; raises FleetError where no log is stored."""
        store = self.found.store
        rows, since = self.of_fleet(store.usage()), self.options.since
        if since is not None:
            rows = usage_since(rows, self.ports.now() - since)
        if self.options.is_explain:
            return self._keep_logs(rows)
        # Requests are sums of lines: of many lines there may be few.
        is_short = MAX_INLINE_ROWS < store.logs.lines <= MAX_TASK_ROWS
        few = inline_few(gather_rows(rows) if is_short else rows)
        return self._keep_logs(rows) if few is rows else few

    @cached_property
    def of_all_time(self) -> "ReportInputs":
        """The same with all logs: costs are those of months, and what is new was not there before.

        With -since these are read once more, for them alone.
        """
        if self.options.since is None:
            return self
        options = replace(self.options, since=None)
        found = ReportInputs(
            options, self.ports, self.found, self._owners, keeps_logs=self.keeps_logs
        )
        found.owned, found._reads = self.owned, self._reads
        return found

    def _keep_logs(self, rows: "DataFrame") -> "DataFrame":
        self._expect_rows(self.found.store.logs.lines)
        return self.found.keep(rows) if self.keeps_logs else rows

    def _expect_rows(self, count: int) -> None:
        """Have Spark plan for many rows where there may be so many."""
        if count >= CODEGEN_MIN_ROWS:
            self.found.expect_many_rows()

    @cached_property
    def history(self) -> "DataFrame | None":
        """The requests of logs; None where no log was ever ingested."""
        try:
            return self.logs
        except FleetError:
            return None

    @property
    def logged_clusters(self) -> frozenset[str]:
        """The clusters with a log, for requests since a time: others have none in any."""
        return frozenset() if self.options.since is None else self.found.store.logs.clusters

    @cached_property
    def log_sums(self) -> "DataFrame":
        """What `requests.log_sums` says of `logs`; raises FleetError as that."""
        return self.found.compute(log_sums(self.logs))

    @cached_property
    def log_lineage(self) -> Mapping[str, str]:
        """Of which logs the requests are, for the lineage of figures.

        To ask before any table is computed has the logs read here, by one query and not by several.
        Plans have none.
        """
        if self.history is None or self.options.is_explain:
            return {}
        return log_lineage(self.log_sums)


def _names(clusters: Sequence[str]) -> str:
    more = len(clusters) - _MAX_NAMES
    return ", ".join(clusters[:_MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")


@contextmanager
def open_inputs(
    options: FleetOptions,
    ports: FleetPorts,
    *,
    keeps_logs: bool = False,
    reads_owners: bool = False,
    reads_once: bool = False,
) -> Iterator[ReportInputs]:
    """Open a stored run, and the logs; raises ConfigError, UsageError and FleetError.

    With `reads_owners` they are read while Spark starts, and `owned` can be asked for; see
    `open_snapshot` for `reads_once`.
    """
    owners = OwnerReader(options, ports)
    begin = owners.begin if reads_owners else lambda _: None
    with open_snapshot(options, ports, begin, reads_once=reads_once) as found:
        yield ReportInputs(options, ports, found, owners, keeps_logs=keeps_logs)
