"""What the tables of one answer are made of, each read once."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from kplan.fleet.dataframe import MAX_INLINE_ROWS, inline_few
from kplan.fleet.logs.requests import log_lineage, log_sums, usage_since
from kplan.fleet.spark.session import CODEGEN_MIN_ROWS
from kplan.fleet.store import Run, Store, add_run
from kplan.model.errors import FleetError
from kplan.workflow.fleet.desired import OwnedObjects, read_owners
from kplan.workflow.fleet.fleet import filter_clusters, open_snapshot
from kplan.workflow.fleet.open_run import MAX_TASK_ROWS, OpenSnapshot, gather_rows, read_few
from kplan.workflow.fleet.policies import Declarations, load_declarations
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame


class ReportInputs:
    """What the tables of one answer are made of; each is read once, when it is first asked for.

    With `keeps_logs` Spark keeps the logs for several tables that are made of them.
    """

    def __init__(
        self,
        options: FleetOptions,
        ports: FleetPorts,
        found: OpenSnapshot,
        *,
        keeps_logs: bool = True,
    ) -> None:
        self.options, self.ports, self.found = options, ports, found
        self.keeps_logs = keeps_logs

    @property
    def objects(self) -> "DataFrame":
        """The rows of the run. Of a large one all of them are too many to be kept in memory."""
        return self.found.objects

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs that are whole, oldest first."""
        return self.found.store.runs()

    def objects_of_runs(self, runs: Sequence[Run]) -> "DataFrame":
        """Return the rows of several runs, with `run` and `at`."""
        found = self.found
        if found.is_read and list(runs) == [found.run]:
            return add_run(found.objects, found.run)
        rows = filter_clusters(self.options, found.store.objects_of_runs(runs))
        count = sum(each.rows for each in runs)
        self._expect_rows(count)
        return read_few(rows, count, self.options)

    @cached_property
    def owned(self) -> OwnedObjects:
        """What the states of all clusters own."""
        return read_owners(self.found.fleet, self.options, self.ports, self.found.spark)

    @cached_property
    def declarations(self) -> Declarations:
        """What is declared and owned on all clusters, and their policies."""
        return load_declarations(self.found.fleet, self.options, self.ports, self.found.objects)

    @cached_property
    def logs(self) -> "DataFrame":
        """The requests of logs; raises FleetError where no log was ever ingested."""
        store = self.found.store
        rows = _read_audit(self.options, self.ports, store)
        if self.options.is_explain:
            return self._keep_logs(rows)
        # Requests are sums of lines: of many lines there may be few.
        is_short = MAX_INLINE_ROWS < store.logs.lines <= MAX_TASK_ROWS
        few = inline_few(gather_rows(rows) if is_short else rows)
        return self._keep_logs(rows) if few is rows else few

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


def _read_audit(options: FleetOptions, ports: FleetPorts, store: Store) -> "DataFrame":
    """Return the log entries of the selected clusters and time; raises FleetError."""
    history = filter_clusters(options, store.usage())
    return history if options.since is None else usage_since(history, ports.now() - options.since)


@contextmanager
def open_inputs(
    options: FleetOptions, ports: FleetPorts, *, keeps_logs: bool = True
) -> Iterator[ReportInputs]:
    """Open a stored run, and the logs; raises ConfigError, UsageError and FleetError."""
    with open_snapshot(options, ports) as found:
        yield ReportInputs(options, ports, found, keeps_logs=keeps_logs)
