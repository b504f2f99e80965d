"""A stored run that is open for questions, and what its answers say of their source."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kplan.config.fleet_file import FleetConfiguration
from kplan.fleet.access import acl_rows
from kplan.fleet.dataframe import MAX_INLINE_ROWS, cut_lineage, inline_few
from kplan.fleet.snapshot import ALL_KINDS
from kplan.fleet.spark.few_rows import is_suited
from kplan.fleet.store import Run, Store
from kplan.model.dataclass import dataclass
from kplan.model.table import FigureTable
from kplan.model.version import VERSION
from kplan.workflow.fleet.ports import FleetOptions

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

MAX_TASK_ROWS = 20_000
"""Rows that one task is done with before Spark has planned and started several."""


@dataclass(frozen=True, slots=True)
class OpenSnapshot:
    """A stored run open for questions. `spark` is the session that answers.

    `runs` are all that were whole when it was opened, oldest first.

    What every answer tells is computed while configurations are read. `kept` is in memory and on
    disk until it is closed. Of one that `is_small` the rows are values of each query; of one that
    `is_read`, small or not, they are in memory.
    """

    fleet: FleetConfiguration
    spark: "SparkSession"
    store: Store
    runs: Sequence[Run]
    run: Run
    objects: "DataFrame"
    _unread: Callable[[], FigureTable]
    _snapshot_times: Callable[[], str]
    is_explain: bool
    kept: "list[DataFrame]"
    is_small: bool
    is_read: bool
    expect_many_rows: Callable[[], None]

    def keep(self, rows: "DataFrame") -> "DataFrame":
        """Have Spark keep rows that several tables are made of, and are not few."""
        self.kept.append(rows.cache())
        return rows

    def keep_acls(self) -> None:
        """Have Spark keep the ACLs of a large run, for answers that look at them several times.

        To take their attributes out of the stored maps takes longest. Spark finds them by itself
        in every query that takes ACLs from `objects`.
        """
        self.keep_of_large(acl_rows(self.objects))

    def keep_of_large(self, rows: "DataFrame") -> "DataFrame":
        """Have Spark keep rows that are asked for several times, where the run is a large one.

        Of a small one they are found again sooner than they are kept. They are not to be in an
        order: whoever shows some of them in an order sorts only as many, and kept ones are sorted
        whole.
        """
        return rows if self.is_read or self.is_explain else self.keep(rows)

    def compute(self, rows: "DataFrame") -> "DataFrame":
        """Compute rows now that several tables are made of, and keep them; not to explain them.

        Few rows are a value of what is asked next, and more are a leaf of its plan.
        """
        if self.is_explain:
            return rows
        is_kept = bool(self.kept) or not self.is_small
        few = inline_few(self.keep(rows) if is_kept else rows)
        if few is not rows:
            return few
        return cut_lineage(rows if is_kept else self.keep(rows))

    def compute_few(self, rows: "DataFrame") -> "DataFrame":
        """Compute rows now of which few are expected, where little has to be read for them.

        What is made of them is then planned in less time.
        """
        is_long = self.is_explain or self.kept or not self.is_small
        return rows if is_long else inline_few(rows)

    @property
    def unread(self) -> FigureTable:
        """List the unread parts of the selected clusters."""
        return self._unread()

    @property
    def lineage(self) -> Mapping[str, str]:
        """Describe the source of all figures."""
        return run_lineage(self.run, self._snapshot_times(), self.store.name)


def read_few(rows: "DataFrame", count: int, options: FleetOptions) -> "DataFrame":
    """Read rows now if `count` says that they are few, not to explain them; 0 is unknown."""
    if options.is_explain or not 0 < count <= MAX_TASK_ROWS:
        return rows
    return inline_few(rows) if count <= MAX_INLINE_ROWS else gather_rows(rows)


def gather_rows(rows: "DataFrame") -> "DataFrame":
    """Read few rows into one partition in memory: to join or group them, Spark shuffles nothing.

    Returns `rows` themselves where `expect_few_rows` changes nothing, or Spark may lose them.
    """
    if not is_suited(rows.sparkSession):
        return rows
    gathered = rows.coalesce(1)
    leaf = cut_lineage(gathered)
    return rows if leaf is gathered else leaf


def run_lineage(run: Run, taken: str, store: str) -> dict[str, str]:
    """Describe the figures: `kplan_version` took the run, and `answered_by` evaluated it."""
    return {
        "run": run.run,
        "attempt": run.attempt,
        "read_at": run.at,
        "snapshots": taken,
        "kplan_version": run.kplan_version,
        "answered_by": VERSION,
        "store": store,
    }


def unread_notes(unread: FigureTable, where: str = "") -> tuple[str, ...]:
    """Say what could not be read; in: what `inventory.unread_kinds` gives, and words for where."""
    return tuple(
        f"{cluster} could not be read{where}: {reason}"
        if kind == ALL_KINDS
        else f"{cluster}: {kind} could not be read{where}: {reason}"
        for cluster, kind, reason in unread.rows
    )
