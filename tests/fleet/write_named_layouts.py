"""Write the logs of `tests/fixtures/named_layouts`, and the fleet file that names their layouts.

A real broker of each logging library writes what its authorizer decides in every layout at once:
log4j 2 (Kafka 4), reload4j (Kafka 3.9) and log4j 1.2 (Kafka 2.8). Each has a time zone of its own.
Run: python -m tests.fleet.write_named_layouts [log4j2|reload4j|log4j1...]
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import sleep

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported in silence
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from kplan.kafka.transaction import librdkafka_settings
from kplan.sandbox import runtime
from kplan.sandbox.artifact import MAVEN_CENTRAL, cache_folder
from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION, SandboxSpec, Security
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import settings_of
from tests.e2e.test_sandbox_real import client

FOLDER = Path(__file__).parents[1] / "fixtures" / "named_layouts"
DEFAULT = "default"
OWN = "[%d] %p %m (%c)%n"
"""Kafka's."""
LOGGER = "kafka.authorizer.logger"
SORT = re.compile(
    r"Principal = (?P<user>User:\w+) is \w+ [oO]peration = .* for request = \w+ "
    r"|(?P<super>principal = User:\w+ is a super user)"
    r"|(?P<default>No acl found for resource .*, authorized)"
    r"|(?P<acl>operation = \w+ on resource = ResourcePattern.* based on acl)"
)
"""A decision, or what AclAuthorizer says of one beside it."""
LINES_OF_A_SORT, LINES = 2, 28

OF_LOG4J_1 = {
    "iso8601": "%d{ISO8601} [%t] %-5p %c{1} - %m%n",
    "days-first": "%d{dd/MM/yyyy HH:mm:ss} %5p %m (%c)%n",
    "month-name": "%d{DATE} [%t] %p %c %x - %m%n",
    "weekday": "%d{EEE, dd MMM yyyy HH:mm:ss Z} %m%n",
    "time-first": "%d{HH:mm:ss,SSS dd.MM.yy}|%.1p|%m|%r%n",
    "location": "%d %C.%M(%F:%L) %p %X{client} %m%n",
}
OF_RELOAD4J = {**OF_LOG4J_1, "zone": "%d{ISO8601}{America/New_York} %p %m%n"}
OF_LOG4J_2 = {
    "iso8601": "%d{ISO8601} [%t] %-5level %logger{36} - %msg%n",
    "days-first": "%d{dd/MM/yyyy HH:mm:ss} %-5p [%t] %c - %m%n",
    "months-first": "%date{MM/dd/yyyy HH:mm:ss.SSS} %p %m%n",
    "month-name": "%d{DATE} %p %c{1.} %message%n%ex",
    "millis": "%d{UNIX_MILLIS} %5p %m (%c)%n%throwable",
    "seconds": "%d{UNIX} %pid %sn %tid %m%n",
    "compact": "%d{COMPACT}|%p|%marker|%X|%m%n",
    "micros": "%d{DEFAULT_MICROS} %m %%%n",
    "minutes": "%d{yyyy-MM-dd} at %d{H:mm} %p: %m%n",
    "zone": "%d{dd.MM.yy HH:mm:ss,SSS}{Asia/Tokyo} | %-5.5p | %m%n",
    "zone-and-its-name": "[%d{yyyy-MM-dd HH:mm:ss,SSS z}{Asia/Shanghai}] %p %m (%c)%n",
    "zone-name": "%d{EEE MMM dd HH:mm:ss zzz yyyy}{Europe/Berlin} %m%n",
    "offset": "%d{ISO8601_OFFSET_DATE_TIME_HHMM} %p %m%n",
    "offset-of-zone": "%d{dd/MMM/yyyy:HH:mm:ss.SSS XXX}{Asia/Kolkata} %m%n",
    "location": "%d %C.%M(%F:%L) %r %u %m%n",
}
TEMPLATES = {
    "ecs": ("ecs-json", "EcsLayout.json"),
    "logstash": ("ecs-json", "LogstashJsonEventLayoutV1.json"),
    "template": ("log4j2-json", "JsonLayout.json"),
    "gcp": ("gcp-json", "GcpLayout.json"),
    "gelf": ("gelf-json", "GelfLayout.json"),
}
"""The names of layouts that log4j's own templates of JSON have."""
JSON_SETTINGS = {
    "json": {"complete": "false"},
    "json-millis": {"includeTimeMillis": "true", "properties": "true", "locationInfo": "true"},
}


@dataclass(frozen=True)
class Library:
    """A library that a broker logs with: `jars` take the place of `replaces` on its class path."""

    name: str
    kafka: str
    zone: str
    jars: tuple[str, ...]
    patterns: Mapping[str, str]
    settings: Callable[["Library", Path], Mapping[str, str]]
    replaces: str = "^$"
    switch: str = "log4j2.configurationFile"
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def layouts(self) -> dict[str, str]:
        """Return what the fleet file calls each layout."""
        return {**self.patterns, **self.names}

    def file(self, layout: str) -> str:
        """Name the log of a layout."""
        return f"{self.name}-{layout}.log"


def log4j2_settings(library: Library, folder: Path) -> Mapping[str, str]:
    """Return the settings of one appender for each layout, beside the sandbox's own."""
    found = dict(_own_settings(folder, "debug"))
    for name in (DEFAULT, *library.layouts):
        place = f"appender.{name}"
        found |= {
            f"{place}.type": "File",
            f"{place}.name": name,
            f"{place}.fileName": str(folder / library.file(name)),
            f"logger.authorizer.appenderRef.{name}.ref": name,
            **{f"{place}.layout.{each}": value for each, value in _log4j2_layout(name)},
        }
    return found


def _log4j2_layout(name: str) -> Iterator[tuple[str, str]]:
    if name in TEMPLATES:
        yield "type", "JsonTemplateLayout"
        yield "eventTemplateUri", f"classpath:{TEMPLATES[name][1]}"
    elif name in JSON_SETTINGS:
        yield "type", "JsonLayout"
        yield from {"compact": "true", "eventEol": "true", **JSON_SETTINGS[name]}.items()
    else:
        yield "type", "PatternLayout"
        yield "pattern", {DEFAULT: OWN, "kafka": OWN, **OF_LOG4J_2}[name]


def log4j1_settings(library: Library, folder: Path) -> Mapping[str, str]:
    """Return settings of log4j 1 with one appender for each layout."""
    layouts = {DEFAULT: OWN, **library.patterns}
    found = {
        "log4j.rootLogger": "INFO, server",
        f"log4j.logger.{LOGGER}": ", ".join(["DEBUG", *layouts]),
        f"log4j.additivity.{LOGGER}": "false",
    }
    for name, pattern in {"server": OWN, **layouts}.items():
        place, kind = f"log4j.appender.{name}", "Enhanced" if name == "zone" else ""
        found |= {
            place: "org.apache.log4j.FileAppender",
            f"{place}.File": str(
                folder / ("server.log" if name == "server" else library.file(name))
            ),
            f"{place}.layout": f"org.apache.log4j.{kind}PatternLayout",
            f"{place}.layout.ConversionPattern": pattern,
        }
    return found


LIBRARIES = (
    Library(
        "log4j2",
        DEFAULT_KAFKA_VERSION,
        "America/St_Johns",
        ("org.apache.logging.log4j:log4j-layout-template-json:2.25.4",),
        OF_LOG4J_2,
        log4j2_settings,
        names={
            "kafka": "kafka",
            **{name: called for name, (called, _) in TEMPLATES.items()},
            **dict.fromkeys(JSON_SETTINGS, "log4j2-json"),
        },
    ),
    Library(
        "reload4j",
        "3.9.1",
        "Asia/Kolkata",
        ("ch.qos.reload4j:reload4j:1.2.25", "org.slf4j:slf4j-reload4j:1.7.36"),
        OF_RELOAD4J,
        log4j1_settings,
        "/log4j-",
        "log4j.configuration",
    ),
    Library(
        "log4j1",
        "2.8.2",
        "Europe/Berlin",
        ("log4j:log4j:1.2.17", "org.slf4j:slf4j-log4j12:1.7.30"),
        OF_LOG4J_1,
        log4j1_settings,
        "/log4j-",
        "log4j.configuration",
    ),
)
"""The versions are those in the distributions of these versions of Kafka."""

_own_settings = runtime._logging_properties
_java_command = runtime._java_command


def fetch_jars(names: Sequence[str]) -> tuple[Path, ...]:
    """Return jars of Maven Central, fetched unless they are in the cache."""
    from jgo.maven import MavenContext, PythonResolver

    maven = MavenContext(
        resolver=PythonResolver(),
        repo_cache=cache_folder() / "log4j",
        remote_repos={"central": os.environ.get("KPLAN_MAVEN_REPOSITORY", MAVEN_CENTRAL)},
        timeout=30,
    )
    return tuple(maven.create_dependency(each).artifact.resolve() for each in names)


@contextmanager
def broker(library: Library) -> Iterator[Sandbox]:
    """Run a broker that logs with a library, by the settings of log4j that a sandbox writes."""
    jars = fetch_jars(library.jars)

    def command(kit: runtime.KafkaRuntime, spec: SandboxSpec, folder: Path) -> tuple[str, ...]:
        kept = (each for each in kit.class_path if not re.search(library.replaces, str(each)))
        own = replace(kit, class_path=(*jars, *kept), archive=None)
        java, *rest = _java_command(own, spec, folder)
        log4j = f"-D{library.switch}=file:{folder / 'log4j2.properties'}"
        return (java, *rest[:-2], log4j, f"-Duser.timezone={library.zone}", *rest[-2:])

    def settings(folder: Path, level: str) -> Mapping[str, str]:
        del level
        return library.settings(library, folder)

    runtime._java_command = command
    runtime._logging_properties = settings
    try:
        with temporary_sandbox(
            SandboxSpec(kafka_version=library.kafka, security=Security.SASL, logs_allowed=True)
        ) as sandbox:
            yield sandbox
    finally:
        runtime._java_command, runtime._logging_properties = _java_command, _own_settings


def make_requests(sandbox: Sandbox) -> None:
    """Be refused as a user, get ACLs for a topic and a group, then produce and consume."""
    admin = client(sandbox.client_properties("admin"))
    alice = client(sandbox.client_properties("alice"))
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(timeout=30)
    with suppress(KafkaException):
        alice.create_topics([NewTopic("stock", 1, 1)])["stock"].result(timeout=30)
    literal = ResourcePatternType.LITERAL
    acls = [
        AclBinding(kind, name, literal, "User:alice", "*", operation, AclPermissionType.ALLOW)
        for kind, name, operation in (
            (ResourceType.TOPIC, "orders", AclOperation.READ),
            (ResourceType.TOPIC, "orders", AclOperation.WRITE),
            (ResourceType.GROUP, "billing", AclOperation.READ),
        )
    ]
    for each in admin.create_acls(acls).values():
        each.result(timeout=30)
    settings = librdkafka_settings(settings_of(sandbox, "alice"))
    producer = Producer(settings)
    for number in range(3):
        producer.produce("orders", str(number).encode())
    producer.flush(30)
    consumer = Consumer({**settings, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    consumer.consume(3, 30)
    consumer.commit()
    consumer.close()


def sorts(lines: Sequence[str]) -> dict[tuple[bool, str], list[str]]:
    """Return the lines of each sort; those of users without ACLs come last."""
    found: dict[tuple[bool, str], list[str]] = {}
    for line in lines:
        if match := SORT.search(line):
            user = match["user"]
            sort = (user not in (None, "User:alice"), match[0] if user else str(match.lastgroup))
            found.setdefault(sort, []).append(line)
    return dict(sorted(found.items()))


def chosen_sorts(usual: Mapping[tuple[bool, str], Sequence[str]]) -> dict[tuple[bool, str], int]:
    """Return how many lines are kept of which sort."""
    found: dict[tuple[bool, str], int] = {}
    for sort, lines in usual.items():
        found[sort] = min(LINES_OF_A_SORT, len(lines), LINES - sum(found.values()))
    return found


def write_logs(library: Library) -> None:
    """Start a broker, make requests, and keep the same lines of each log.

    Threads of a broker may come to two appenders in a different order.
    """
    for old in FOLDER.glob(f"{library.name}-*.log"):
        old.unlink()
    with broker(library) as sandbox:
        make_requests(sandbox)
        sleep(2)
        logs = {
            name: sorts((sandbox.folder / "node-1" / library.file(name)).read_text().splitlines())
            for name in (DEFAULT, *library.layouts)
        }
    chosen = chosen_sorts(logs[DEFAULT])
    for name, lines in logs.items():
        kept = [line for sort, count in chosen.items() for line in lines[sort][:count]]
        (FOLDER / library.file(name)).write_text("".join(f"{each}\n" for each in kept))


def fleet_text() -> str:
    """Return the fleet file: one cluster for each log."""
    return "\n".join(
        _cluster_text(library, name, layout)
        for library in LIBRARIES
        for name, layout in {DEFAULT: "", **library.layouts}.items()
    )


def _cluster_text(library: Library, name: str, layout: str) -> str:
    file = library.file(name)
    named = f"    layout = {json.dumps(layout)}\n" if layout else ""
    return (
        f'cluster "{file.removesuffix(".log")}" {{\n'
        f'  snapshot        = "none"\n'
        f'  audit_time_zone = "{library.zone}"\n'
        f'  audit {{\n    files  = ["{file}"]\n{named}  }}\n}}\n'
    )


def main(names: Sequence[str]) -> None:
    """Write the logs of all libraries, or of those that are named."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        if not names or library.name in names:
            write_logs(library)
    (FOLDER / "fleet.hcl").write_text(fleet_text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
