"""`kplan.import_`: own an object that exists already."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event

from kplan.api.call import CallOptions, Progress, begin_call
from kplan.api.project import Project, load
from kplan.model.state import OwnedObject
from kplan.workflow.adopt import import_ as use_case

__all__ = ["import_", "import_all"]


def import_(
    project: Project | str | os.PathLike[str],
    address: str,
    identity: str,
    *,
    lock_timeout: timedelta = timedelta(0),
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> OwnedObject:
    """Record an existing object in the state, as `kplan import ADDRESS ID` does.

    Nothing on the cluster changes. The next plan shows how the object differs from the
    configuration.

    Args:
        project: A project, or a folder as for `kplan.load`.
        address: The address of a declared resource, such as `kafka_topic.orders`.
        identity: The name on the cluster: of a topic its name, of an ACL its seven parts
            `principal|host|operation|permission|type|name|pattern`.
        lock_timeout: How long to wait for the lock of the state.
        on_progress: Called when progress is made.
        cancel: Ends the call before its next stage once it is set.

    Returns:
        The object as the state records it.

    Raises:
        UsageError: The address is not declared, owns an object or declares another one, or there is
            no such object.
        StateError: The state is locked or damaged, or an apply was interrupted.

    """
    found = project if isinstance(project, Project) else load(project)
    call_options = CallOptions(on_progress, cancel, lock_timeout_s=lock_timeout.total_seconds())
    with begin_call("import", found._calls, call_options) as (_, ports):
        return use_case.import_object(found._source, address, identity, ports)


def import_all(  # noqa: PLR0913 - keywords, each of them optional
    project: Project,
    file: str | os.PathLike[str],
    *,
    prefix: str = "",
    include_broker_configs: bool = False,
    lock_timeout: timedelta = timedelta(0),
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> tuple[OwnedObject, ...]:
    """Declare every undeclared object of a cluster in a new file, and record it in the state.

    As `kplan import -all -generate-config=FILE`: the next plan has no changes.

    Args:
        project: A project; the cluster is that of its provider block without alias.
        file: A new `.tf` or `.hcl` file in the folder of the project.
        prefix: Only objects whose name, or the name of what they are about, begins with it.
        include_broker_configs: Also declare the dynamic configs of brokers.
        lock_timeout: How long to wait for the lock of the state.
        on_progress: Called when progress is made.
        cancel: Ends the call before its next stage once it is set.

    Returns:
        The objects as the state records them; empty where there is nothing to import.

    Raises:
        UsageError: The file exists, or is not a configuration file of the folder.
        StateError: The state is locked or damaged, or an apply was interrupted.

    """
    selection = use_case.ImportSelection(prefix, include_broker_configs)
    call_options = CallOptions(on_progress, cancel, lock_timeout_s=lock_timeout.total_seconds())
    with begin_call("import", project._calls, call_options) as (_, ports):
        found = use_case.import_all(project._source, Path(file), selection, ports)
    return found.owned
