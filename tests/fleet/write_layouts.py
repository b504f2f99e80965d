"""Write the logs of `tests/fixtures/logs` anew, by a real broker.

One broker writes what its authorizer decides in every layout at once, with one log4j 2 appender
for each.
Run: python -m tests.fleet.write_layouts
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import sleep

from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from kplan.sandbox import runtime
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.test_sandbox_real import client

FOLDER = Path(__file__).parents[1] / "fixtures" / "logs"
DEFAULT = "default"
PATTERNS = {
    DEFAULT: "[%d] %p %m (%c)%n",
    "no-brackets": "%d{ISO8601} %-5p %c{1}:%L - %m%n",
    "iso-t": "%d{yyyy-MM-dd'T'HH:mm:ss,SSS} %p %m (%c)%n",
    "dots": "%d{yyyy-MM-dd HH:mm:ss.SSS} [%t] %p %c - %m%n",
    "seconds": "[%d{yyyy-MM-dd HH:mm:ss}] %p %m (%c)%n",
    "offset": "%d{yyyy-MM-dd'T'HH:mm:ss.SSSZ}{Asia/Kolkata} %p %m%n",
    "offset-colon": "[%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}{America/New_York}] %p %m (%c)%n",
    "zone-name": "[%d{yyyy-MM-dd HH:mm:ss,SSS z}{CET}] %p %m (%c)%n",
    "ecs": '{"@timestamp":"%d{yyyy-MM-dd\'T\'HH:mm:ss.SSS\'Z\'}{UTC}","log.level":"%p",'
    '"message":"%enc{%m}{JSON}","ecs.version":"1.2.0","log.logger":"%c"}%n',
}
LINES = 12


def appenders(folder: Path) -> Mapping[str, str]:
    """Return the settings of one appender for each layout, beside the sandbox's own."""
    found: dict[str, str] = {}
    for name in (*PATTERNS, "json"):
        place = f"appender.{name}"
        found |= {
            f"{place}.type": "File",
            f"{place}.name": name,
            f"{place}.fileName": str(folder / f"layout-{name}.log"),
            f"logger.authorizer.appenderRef.{name}.ref": name,
        }
        if name in PATTERNS:
            found[f"{place}.layout.type"] = "PatternLayout"
            found[f"{place}.layout.pattern"] = PATTERNS[name]
        else:
            found |= {
                f"{place}.layout.type": "JsonLayout",
                f"{place}.layout.compact": "true",
                f"{place}.layout.eventEol": "true",
            }
    return found


def make_requests(sandbox: Sandbox) -> None:
    """Create a topic as the first user, whom everything is allowed, and be refused as another."""
    admin = client(sandbox.client_properties("admin"))
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(timeout=30)
    alice = client(sandbox.client_properties("alice"))
    with suppress(KafkaException):
        alice.create_topics([NewTopic("stock", 1, 1)])["stock"].result(timeout=30)


def prefixes() -> Mapping[str, Callable[[str], str]]:
    """Return what puts something around a line of the default layout, by layout."""
    at = "2026-11-25T09:00:00.123456789Z"
    return {
        "cri": lambda line: f"{at} stdout F {line}",
        "docker": lambda line: json.dumps({"log": f"{line}\n", "stream": "stdout", "time": at}),
        "syslog-3164": lambda line: f"<134>Nov 25 09:00:00 host-1 kafka[12]: {line}",
        "syslog-5424": lambda line: f"<134>1 {at} host-1 kafka 12 - - {line}",
        "cloudwatch": lambda line: f"2026-11-25T09:00:00.123Z {line}",
        "cloudwatch-json": lambda line: json.dumps({"timestamp": 1795597200123, "message": line}),
    }


def write_prefixed() -> None:
    """Write the logs of containers and of what ships logs, of the lines of the default layout."""
    lines = (FOLDER / "kafka-default.log").read_text(encoding="utf-8").splitlines()
    for name, prefixed in prefixes().items():
        text = "".join(f"{prefixed(each)}\n" for each in lines)
        (FOLDER / f"prefixed-{name}.log").write_text(text, encoding="utf-8")


def chosen_lines(lines: Sequence[str]) -> list[int]:
    """Return which lines are kept: some of the broker's own, and of each user."""
    return [
        number
        for user in ("broker", "admin", "alice")
        for number in [n for n, each in enumerate(lines) if f"User:{user} " in each][: LINES // 3]
    ]


def main() -> None:
    """Start the broker, make some requests, and keep the first lines of each file."""
    own = runtime._logging_properties

    def every(folder: Path, level: str) -> Mapping[str, str]:
        return {**own(folder, level), **appenders(folder)}

    runtime._logging_properties = every
    spec = SandboxSpec(security=Security.SASL, logs_allowed=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with temporary_sandbox(spec) as sandbox:
        make_requests(sandbox)
        sleep(2)
        logs = sorted((sandbox.folder / "node-1").glob("layout-*.log"))
        read = {each: each.read_text(encoding="utf-8").splitlines() for each in logs}
        default = next(lines for each, lines in read.items() if each.stem == f"layout-{DEFAULT}")
        chosen = chosen_lines(default)
        for each, lines in read.items():
            text = "".join(f"{lines[n]}\n" for n in chosen)
            (FOLDER / each.name.replace("layout-", "kafka-")).write_text(text, encoding="utf-8")
    write_prefixed()


if __name__ == "__main__":
    main()
