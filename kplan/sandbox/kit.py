"""What starts a Kafka process: Java, jars, options and settings files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kplan.sandbox import java
from kplan.sandbox.layout import Node
from kplan.sandbox.properties import text, write_private
from kplan.sandbox.spec import SandboxSpec


@dataclass(frozen=True, slots=True)
class Kit:
    """Java, Kafka's jars, an archive of loaded classes if any, options for servers only."""

    java: java.Java
    class_path: tuple[Path, ...]
    archive: Path | None = None
    options: tuple[str, ...] = ()


def node_folder(folder: Path, node: Node) -> Path:
    """Return where a node keeps its settings, logs and data."""
    return folder / f"node-{node.id}"


def server_command(kit: Kit, spec: SandboxSpec, folder: Path) -> tuple[str, ...]:
    """Return the command line of a Kafka server whose node folder is `folder`."""
    command, *rest = _java(kit, spec, folder)
    return (command, *kit.options, *rest, "kafka.Kafka", str(folder / "server.properties"))


def format_command(
    kit: Kit, spec: SandboxSpec, folder: Path, cluster_id: str, options: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the command line that formats a node's storage (KIP-631), with its own `options`."""
    release = ("--release-version", spec.metadata_version) if spec.metadata_version else ()
    return (
        *_java(kit, spec, folder),
        "kafka.tools.StorageTool",
        "format",
        f"--cluster-id={cluster_id}",
        f"--config={folder / 'server.properties'}",
        *release,
        *options,
    )


def _java(kit: Kit, spec: SandboxSpec, folder: Path) -> tuple[str, ...]:
    return (
        str(kit.java.launcher),
        *java.flags(kit.java, heap_mb=spec.heap_mb, archive=kit.archive),
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        f"-XX:ErrorFile={folder / 'hs_err.log'}",
        "-cp",
        ":".join(str(jar) for jar in (*kit.class_path, *spec.class_path)),
    )


def write_settings(folder: Path, server: Mapping[str, str], *, logs_allowed: bool) -> None:
    """Write a node's server.properties and the settings of its log."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "server.properties", server)
    _write(folder / "log4j2.properties", _logging(folder, "debug" if logs_allowed else "info"))


def _write(file: Path, properties: Mapping[str, str]) -> None:
    write_private(file, text(properties))


def _logging(folder: Path, verdicts: str) -> Mapping[str, str]:
    """Give the authorizer's verdicts a file of their own, as Kafka's distribution does.

    What it denies it tells at the level `info`, what it allows at `debug`.
    """
    return {
        "status": "error",
        "shutdownHook": "disable",  # Kafka's own shutdown is worth reading to its end
        "rootLogger.level": "info",
        "rootLogger.appenderRef.server.ref": "server",
        "logger.authorizer.name": "kafka.authorizer.logger",
        "logger.authorizer.level": verdicts,
        "logger.authorizer.additivity": "false",
        "logger.authorizer.appenderRef.authorizer.ref": "authorizer",
        **_appender("server", folder),
        **_appender("authorizer", folder),
    }


def _appender(name: str, folder: Path) -> Mapping[str, str]:
    return {
        f"appender.{name}.type": "File",
        f"appender.{name}.name": name,
        f"appender.{name}.fileName": str(folder / f"{name}.log"),
        f"appender.{name}.layout.type": "PatternLayout",
        f"appender.{name}.layout.pattern": "[%d] %p %m (%c)%n",
    }
