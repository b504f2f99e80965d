"""Authorizer logs that live: they grow, are rotated and packed, and records come into a topic."""

import gzip
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from confluent_kafka import Producer

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
RESOURCES = 20
FILES, TOPIC = "files", "topic"
"""The clusters: one has files, the other a topic."""
TIMES = {"a": "[%Y-%m-%d %H:%M:%S,{millis:03}]", "b": "%d/%m/%Y %H:%M:%S,{millis:03}"}
"""How the log of each broker writes them."""
FLEET = """
cluster "files" {{
  audit = ["logs/a.log*"]
  audit {{
    files  = ["logs/b.log*"]
    layout = "%d{{dd/MM/yyyy HH:mm:ss,SSS}} %p %m (%c)%n"
  }}
  provider "kafka" {{
    bootstrap_servers = ["{servers}"]
    tls_enabled       = false
  }}
}}
"""
FLEET_OF_TOPIC = """
cluster "topic" {{
  audit = ["kafka://{topic}"]
  provider "kafka" {{
    bootstrap_servers = ["{servers}"]
    tls_enabled       = false
  }}
}}
"""


@dataclass
class AuditWriter:
    """Writes logs of two brokers below a folder, and records to a topic if there is one.

    The first broker writes Kafka's default layout, the other one that the fleet file names.
    `written` counts the requests by cluster and resource: what is to be found in the end.
    """

    folder: Path
    random: random.Random
    producer: Producer | None = None
    topic: str = ""
    written: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lines: int = 0
    _rotations: int = 0

    def step(self, lines: int = 50) -> None:
        """Add up to so many lines to a log of each broker, and do what becomes of logs."""
        for broker, time in TIMES.items():
            log = self.folder / f"{broker}.log"
            with log.open("a", encoding="utf-8") as file:
                text = "".join(
                    self._line(FILES, time) for _ in range(self.random.randint(1, lines))
                )
                half = self.random.randrange(len(text))
                file.write(text[:half])
                file.flush()  # a reader may see half of a line
                file.write(text[half:])
            if self.random.random() < 0.1:
                self._rotations += 1
                log.rename(log.with_name(f"{log.name}.{self._rotations}"))
        rotated = sorted(self.folder.glob("*.log.*[0-9]"))
        if rotated and self.random.random() < 0.05:
            pack(self.random.choice(rotated))
        if self.producer is not None:
            for _ in range(self.random.randint(0, lines)):
                self.producer.produce(self.topic, self._line(TOPIC).rstrip().encode())
            self.producer.poll(0)

    def flush(self) -> None:
        """Wait until every record is in the topic."""
        if self.producer is not None:
            assert self.producer.flush(60) == 0

    def _line(self, cluster: str, time: str = TIMES["a"]) -> str:
        """Write a line; one of ten is of an hour that was written long before."""
        self._lines += 1
        name = f"t{self.random.randrange(RESOURCES)}"
        self.written[cluster, name] += 1
        late = timedelta(hours=self.random.randint(1, 48)) if self._lines % 10 == 0 else timedelta()
        at = BEGIN + timedelta(days=3, milliseconds=self._lines) - late
        return (
            f"{at.strftime(time).format(millis=at.microsecond // 1000)} INFO Principal = User:a is "
            f"Allowed operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:{name} for "
            "request = FETCH with resourceRefCount = 1 based on rule X (kafka.authorizer.logger)\n"
        )


def pack(log: Path) -> None:
    """Compress a log as logrotate does: the packed file is there before the other goes."""
    packed = log.with_name(f"{log.name}.gz")
    part = log.with_name(f".{log.name}")
    part.write_bytes(gzip.compress(log.read_bytes()))
    part.rename(packed)
    log.unlink()


class AuditTraffic:
    """A writer at work beside the test, a few steps a second."""

    def __init__(self, writer: AuditWriter, interval_s: float = 0.3) -> None:
        self.writer = writer
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Self:
        """Begin to write."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, once all records are in the topic."""
        self._ended.set()
        self._thread.join()
        self.writer.flush()

    def _run(self) -> None:
        while not self._ended.is_set():
            self.writer.step()
            self._ended.wait(self._interval_s)
