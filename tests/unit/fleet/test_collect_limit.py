"""The driver's memory does not grow with rows: what comes over from Spark has a bound."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kplan

HOME = Path(kplan.__path__[0])
MODULES = sorted([*HOME.glob("fleet/**/*.py"), *HOME.glob("workflow/fleet/*.py")])
BRINGS = {"collect", "toPandas", "toArrow", "take", "head", "tail"}
BOUNDS = {"limit", "distinct", "groupBy"}
KNOWN = {
    "requests.clusters_with_log": "a row for each cluster",
    "files._read_states": "a row for each log that is new or changed",
    "files._changed_objects": "a row for each log",
    "layout.are_requests": "one row",
    "outcome.part_starts": "a row for each part of a log",
    "logs.store.parts": "a row for each part of a log",
    "logs.store._old_parts": "a row for each log",
    "logs.store.read": "the same",
    "logs.store.topic_ends": "a row for each partition of the topics with audit records",
    "dataframe.inline_few": "MAX_INLINE_ROWS and one more",
    "figures.snapshot_times": "one row",
    "store.attempts": "a row for each attempt at a run",
    "store._kinds_of_clusters": "a row for each list of kinds",
    "server._warm_up": "one row",
    "logs.store.old_rows": "a row for each log",
    "logs.store.counts": "the same",
    "logs.store.compact": "a row for each part that is written",
    "iceberg_tables.__init__": "a row for each namespace at the top of a catalog",
    "iceberg_tables.remove_attempts": "a row for each attempt",
    "iceberg_tables._call": "one row",
    "access._changes_by_cluster": "a row for each cluster",
    "plan_replay._known_clusters": "a row for each cluster, and of those that are unread a row for "
    "each run that read one of them last",
    "reads.read_runs": "two rows for each cluster",
    "recommend.recommend_privileges": "a row for each cluster",
    "removals.render_clusters": "a row for each cluster",
    "replay.replay_summary": "one row",
    "lines._cut_times": "no job: lines of an Arrow batch, where they are read",
    "lines._are_of_other_loggers": "the same",
}
"""Functions that bring rows over without one of BOUNDS, and what bounds them."""


def _module_name(module: Path) -> str:
    """Name a module as KNOWN does; two are called store."""
    folder = module.parent.name
    return f"logs.{module.stem}" if folder == "logs" and module.stem == "store" else module.stem


def unbounded_calls(source: str, module: str) -> Iterator[str]:
    """Name the functions that bring rows over without a bound in the same expression."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for each in ast.walk(function):
                last, *before = [*chain(each), ""]
                if last in BRINGS and BOUNDS.isdisjoint(before):
                    yield f"{module}.{function.name}"


def chain(call: ast.AST) -> Iterator[str]:
    """Name the methods of a chain of calls, the last one first."""
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        yield call.func.attr
        call = call.func.value


@pytest.mark.parametrize("module", MODULES, ids=lambda path: "_".join(path.parts[-3:]))
def test_no_job_brings_over_more_rows_than_are_known(module: Path) -> None:
    found = set(unbounded_calls(module.read_text(encoding="utf-8"), _module_name(module)))
    assert found <= KNOWN.keys(), "bound it with limit, or say in KNOWN what bounds it"


def test_the_search_sees_what_has_no_bound() -> None:
    sample = "def f(x):\n    x.where(1).collect()\n    x.limit(3).collect()\n    x.toPandas()\n"
    assert list(unbounded_calls(sample, "m")) == ["m.f", "m.f"]
