"""What runs a Kafka process: Java, jars, command lines and properties files."""

import os
from collections.abc import Mapping
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.sandbox.layout import Node, SandboxSpec

MIN_JAVA_WITH_AOT = 25
"""From this one on Java keeps what it has loaded and linked in a cache (JEP 514)."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher and its version, as `25.0.2`."""

    launcher: Path
    version: str

    @property
    def major(self) -> int:
        """The feature release: 25."""
        return int(self.version.split(".")[0])

    def __str__(self) -> str:
        """Name version and launcher."""
        return f"Java {self.version} ({self.launcher})"


def java_flags(java: Java, *, heap_mb: int, archive: Path | None) -> tuple[str, ...]:
    """Return the options that make a short-lived, small Kafka start fast."""
    newer = ("--sun-misc-unsafe-memory-access=allow",) if java.major >= 24 else ()  # noqa: PLR2004
    return (
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Xmx{heap_mb}m",
        "-Djava.awt.headless=true",
        "--enable-native-access=ALL-UNNAMED",
        *newer,
        *((f"-XX:AOTCache={archive}", "-Xlog:aot*=error") if archive else ()),
    )


def format_properties(properties: Mapping[str, str]) -> str:
    """Return one `key=value` line each, in the order given, ASCII only.

    Escapes are those of `java.util.Properties.load`, which reads ISO 8859-1.
    """
    return "".join(
        f"{_escape(key, '=: ')}={_escape(value, '')}\n" for key, value in properties.items()
    )


def write_private_file(file: Path, content: str) -> None:
    """Write a file that is never readable by other users, not even briefly."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(content)


def _escape(part: str, also: str) -> str:
    named = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    done = "".join(
        named.get(char) or (f"\\{char}" if char in also else _escape_character(char))
        for char in part
    )
    return f"\\{done}" if done[:1] in (" ", "#", "!") else done


def _escape_character(char: str) -> str:
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@dataclass(frozen=True, slots=True)
class KafkaRuntime:
    """Java, Kafka's jars, an archive of loaded classes if any, options for servers only."""

    java: Java
    class_path: tuple[Path, ...]
    archive: Path | None = None
    options: tuple[str, ...] = ()


def node_folder(folder: Path, node: Node) -> Path:
    """Return where a node keeps its settings, logs and data."""
    return folder / f"node-{node.id}"


def server_command(kit: KafkaRuntime, spec: SandboxSpec, folder: Path) -> tuple[str, ...]:
    """Return the command line of a Kafka server whose node folder is `folder`."""
    return _server_command(kit, spec, folder, "kafka.Kafka")


def zookeeper_command(kit: KafkaRuntime, spec: SandboxSpec, folder: Path) -> tuple[str, ...]:
    """Return the command line of ZooKeeper."""
    return _server_command(kit, spec, folder, "org.apache.zookeeper.server.quorum.QuorumPeerMain")


def _server_command(
    kit: KafkaRuntime, spec: SandboxSpec, folder: Path, name: str
) -> tuple[str, ...]:
    command, *rest = _java_command(kit, spec, folder)
    return (command, *kit.options, *rest, name, str(folder / "server.properties"))


def scram_command(
    kit: KafkaRuntime, spec: SandboxSpec, folder: Path, zookeeper: str, user: str, config: str
) -> tuple[str, ...]:
    """Return the command line that writes SCRAM credentials of a user to ZooKeeper."""
    return (
        *_java_command(kit, spec, folder),
        "kafka.admin.ConfigCommand",
        f"--zookeeper={zookeeper}",
        "--alter",
        f"--add-config={config}",
        "--entity-type=users",
        f"--entity-name={user}",
    )


def format_command(
    kit: KafkaRuntime, spec: SandboxSpec, folder: Path, cluster_id: str, options: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the command line that formats a node's storage (KIP-631), with its own `options`."""
    release = ("--release-version", spec.metadata_version) if spec.metadata_version else ()
    return (
        *_java_command(kit, spec, folder),
        "kafka.tools.StorageTool",
        "format",
        f"--cluster-id={cluster_id}",
        f"--config={folder / 'server.properties'}",
        *release,
        *options,
    )


def _java_command(kit: KafkaRuntime, spec: SandboxSpec, folder: Path) -> tuple[str, ...]:
    return (
        str(kit.java.launcher),
        *java_flags(kit.java, heap_mb=spec.heap_mb, archive=kit.archive),
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        f"-XX:ErrorFile={folder / 'hs_err.log'}",
        "-cp",
        ":".join(str(jar) for jar in (*kit.class_path, *spec.class_path)),
    )


def write_settings(folder: Path, server: Mapping[str, str], *, logs_allowed: bool) -> None:
    """Write a node's server.properties and the settings of its log."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_properties(folder / "server.properties", server)
    _write_properties(
        folder / "log4j2.properties",
        _logging_properties(folder, "debug" if logs_allowed else "info"),
    )


def set_protocol_version(folder: Path, release: tuple[int, int]) -> None:
    """Let a broker with ZooKeeper speak the protocol of a release, unless its file says which."""
    file = folder / "server.properties"
    key, text = "inter.broker.protocol.version", file.read_text(encoding="latin-1")
    if f"\n{key}=" not in f"\n{text}":
        number = ".".join(map(str, release))
        write_private_file(file, f"{text}{key}={number}\n")


def _write_properties(file: Path, properties: Mapping[str, str]) -> None:
    write_private_file(file, format_properties(properties))


def _logging_properties(folder: Path, level: str) -> Mapping[str, str]:
    """Give the authorizer's log a file of its own, as Kafka's distribution does.

    What it denies it tells at the level `info`, what it allows at `debug`.
    """
    return {
        "status": "error",
        "shutdownHook": "disable",  # Kafka's own shutdown is worth reading to its end
        "rootLogger.level": "info",
        "rootLogger.appenderRef.server.ref": "server",
        "logger.authorizer.name": "kafka.authorizer.logger",
        "logger.authorizer.level": level,
        "logger.authorizer.additivity": "false",
        "logger.authorizer.appenderRef.authorizer.ref": "authorizer",
        **_appender_properties("server", folder),
        **_appender_properties("authorizer", folder),
    }


def _appender_properties(name: str, folder: Path) -> Mapping[str, str]:
    return {
        f"appender.{name}.type": "File",
        f"appender.{name}.name": name,
        f"appender.{name}.fileName": str(folder / f"{name}.log"),
        f"appender.{name}.layout.type": "PatternLayout",
        f"appender.{name}.layout.pattern": "[%d] %p %m (%c)%n",
    }
