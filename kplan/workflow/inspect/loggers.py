"""Use cases: list the loggers of a node, and set their levels (KIP-412, KIP-919)."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from kplan.cluster.port import Cluster
from kplan.cluster.setting_keys import LOG_LEVELS
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.kinds.logger import absent_node_refusal
from kplan.model.errors import ClusterError, Refusal, UsageError
from kplan.model.table import Figures, FigureTable
from kplan.workflow.inspect.broker import check_controller_access
from kplan.workflow.inspect.query import query_cluster
from kplan.workflow.ports import Ports, Project

RESET_WORD = "default"
"""Stands for the level that the logger has without one of its own."""


def list_loggers(cluster: Cluster, node: int, match: str = "*") -> Figures:
    """List the loggers of a broker or controller whose names fit a pattern, with their levels.

    Raises:
        ClusterError: the node does not answer, or refuses to.

    """
    resource = ConfigResource(ConfigScope.LOGGER, str(node))
    found = cluster.configs([resource])[resource]
    if isinstance(found, Refusal):
        refused = absent_node_refusal(cluster.describe(), str(node)) or found
        raise ClusterError(f"The loggers of node {node} cannot be read: {refused}", refused.hint)
    rows = tuple(
        (name, each.entry.value) for name, each in sorted(found.items()) if fnmatchcase(name, match)
    )
    return Figures(f"Loggers of node {node}", (FigureTable("loggers", ("logger", "level"), rows),))


def parse_levels(texts: list[str]) -> Mapping[str, str]:
    """Read LOGGER=LEVEL.

    Raises:
        UsageError: one is something else.

    """
    found: dict[str, str] = {}
    for text in texts:
        name, mark, level = text.rpartition("=")
        if not mark or not name:
            raise UsageError(f'"{text}" is not LOGGER=LEVEL.')
        known = level.lower() if level.lower() == RESET_WORD else level.upper()
        if known not in {*LOG_LEVELS, RESET_WORD}:
            raise UsageError(
                f'"{level}" is not a log level.',
                f"Use one of {', '.join(LOG_LEVELS)}, or {RESET_WORD} for that of its parent.",
            )
        found[name] = known
    return found


def set_levels(
    project: Project,
    ports: Ports,
    wanted: tuple[str, int],
    levels: Mapping[str, str],
    approve: Callable[[], bool],
) -> bool:
    """Set levels of loggers of a node, once approved; False where they were not.

    `wanted` are the provider and the id of the node. The levels hold until the node is restarted.

    Raises:
        PolicyDeniedError: controllers may not be changed directly.
        ClusterError: the node is not there, refused, or did not answer.

    """
    provider, node = wanted

    def question(cluster: Cluster) -> bool:
        described = cluster.describe()
        check_controller_access(described)
        if (absent := absent_node_refusal(described, str(node))) is not None:
            raise ClusterError(f"The levels of node {node} are unchanged: {absent}", absent.hint)
        if not approve():
            return False
        alteration = ConfigResourceAlteration(
            ConfigResource(ConfigScope.LOGGER, str(node)),
            {name: level for name, level in levels.items() if level != RESET_WORD},
            tuple(sorted(name for name, level in levels.items() if level == RESET_WORD)),
        )
        refused = cluster.alter_configs([alteration])[alteration.resource]
        if refused is not None:
            raise ClusterError(f"The levels of node {node} are unchanged: {refused}")
        return True

    return query_cluster(project, ports, provider, question)
