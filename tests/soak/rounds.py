"""Random faults around random runs; an observer compares every sentence with the truth.

A round changes what is declared, runs the installed command, strikes while it runs, lets the
cluster come to rest, and holds each outcome, the exit code and the following plan against what
another client reads. A sentence that is not so is a false sentence.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kplan.sandbox import fault
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from kplan.state.journal import journal_path
from tests.e2e.commands import KPLAN, environ
from tests.soak.faults import kill_active_controller
from tests.soak.observer import Observer, Truth

PROPERTIES = {
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    # A producer's metadata request would bring back the topic that was deleted meanwhile.
    "auto.create.topics.enable": "false",
}
SPEC = SandboxSpec(brokers=3, heap_mb=400, server_properties=PROPERTIES)
PREFIX = "soak."
DAY_MS = 86_400_000
MAIN = """
provider "kafka" {}
locals {
  topics = jsondecode(file("topics.json"))
  acls   = jsondecode(file("acls.json"))
}
resource "kafka_topic" "t" {
  for_each           = local.topics
  name               = each.key
  partitions         = each.value.partitions
  replication_factor = each.value.factor
  config             = { "retention.ms" = each.value.retention }
}
resource "kafka_acl" "a" {
  for_each            = local.acls
  resource_type       = "Topic"
  resource_name       = each.key
  acl_principal       = "User:soak"
  acl_host            = "*"
  acl_operation       = each.value
  acl_permission_type = "Allow"
}
"""
OPERATIONS = ("Read", "Write", "Describe")


@dataclass(slots=True)
class Declared:
    """What the configuration says: (partitions, factor, retention) by topic, operation by topic."""

    topics: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    acls: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it for kplan."""
        topics = {
            name: {"partitions": each[0], "factor": each[1], "retention": each[2]}
            for name, each in self.topics.items()
        }
        (folder / "topics.json").write_text(json.dumps(topics))
        (folder / "acls.json").write_text(json.dumps(self.acls))

    def has_topic(self, name: str, truth: Truth) -> bool:
        """Whether a topic is as declared, or is as absent."""
        declared, live = self.topics.get(name), truth.topics.get(name)
        if declared is None or live is None:
            return declared is None and live is None
        return live.shape == (declared[0], frozenset({declared[1]}), declared[2])

    def has_acl(self, name: str, truth: Truth) -> bool:
        """Whether the ACL on a topic is as declared, or is as absent."""
        held = {operation for _, operation, topic in truth.acls if topic == name}
        wanted = self.acls.get(name)
        return held == ({wanted.upper()} if wanted else set())

    def differences(self, truth: Truth) -> set[str]:
        """Name the addresses at which the cluster is otherwise than declared."""
        found = {
            f'kafka_topic.t["{name}"]'
            for name, (partitions, factor, retention) in self.topics.items()
            if name not in truth.topics
            or truth.topics[name].shape != (partitions, frozenset({factor}), retention)
        }
        found |= {
            f'kafka_acl.a["{name}"]'
            for name, operation in self.acls.items()
            if ("User:soak", operation.upper(), name) not in truth.acls
        }
        return found


@dataclass(slots=True)
class Tally:
    """What came of the rounds."""

    rounds: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    sentences: int = 0
    false: list[str] = field(default_factory=list)


class Soak:
    """One cluster, one folder, one dice."""

    def __init__(self, sandbox: Sandbox, folder: Path, seed: int) -> None:
        self.sandbox = sandbox
        self.folder = folder
        self.dice = random.Random(seed)
        self.observer = Observer(sandbox.bootstrap_servers, PREFIX)
        self.declared = Declared()
        self.tally = Tally()
        self.number = 0
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.tf").write_text(MAIN)

    @property
    def env(self) -> dict[str, str]:
        """Give the environment of a command on the sandbox."""
        servers = self.sandbox.bootstrap_servers
        return environ({"KPLAN_BOOTSTRAP_SERVERS": servers, "KPLAN_TLS_ENABLED": "false"})

    # ---- one round

    def round(self) -> None:
        """Change, run, strike, rest, and compare."""
        self.tally.rounds += 1
        name = self.dice.choice(list(FAULTS))
        self.tally.drawn[name] += 1
        verb = (
            self.dice.choices(list(VERBS), [6, 1, 1, 1, 1])[0] if self.declared.topics else "apply"
        )
        self.tally.verbs[verb] += 1
        what = f"round {self.tally.rounds}, {verb}, {name}"
        VERBS[verb](self, what, name)
        truth = self.observer.read()
        self._check_plan(f"{what}: next plan", truth)
        self._finish(what)

    def apply(self, what: str, name: str) -> None:
        """Declare something else and apply it."""
        before = self.observer.read()
        self._mutate()
        self.declared.write(self.folder)
        touched: set[str] = set()
        args = ("apply", "-auto-approve", "-json", "-throttle=2M", "-max-deletes=99")
        code, items = self._run_with_fault(args, name, touched)
        truth = self.observer.read()
        self._check_items(f"{what}, exit {code}", items, (before, truth), self.declared, touched)
        if code == 0 and not touched:
            self._claim(not self.declared.differences(truth), f"{what}: exit 0, not as declared")

    def destroy(self, what: str, name: str) -> None:
        """Delete all of it."""
        before = self.observer.read()
        touched: set[str] = set()
        code, items = self._run_with_fault(("destroy", "-auto-approve", "-json"), name, touched)
        truth = self.observer.read()
        self._check_items(f"{what}, exit {code}", items, (before, truth), Declared(), touched)
        if code == 0:
            left = truth.topics.keys() - touched - STRANGERS
            self._claim(not left, f"{what}: exit 0, and there is {sorted(left)[:3]} still")

    def reassign(self, what: str, name: str) -> None:
        """Move some topics as a file says."""
        before = self.observer.read()
        names = self.dice.sample(sorted(before.topics), min(4, len(before.topics)))
        wanted = {
            (topic, number): self.dice.sample([1, 2, 3], len(replicas))
            for topic in names
            for number, replicas in enumerate(before.topics[topic].replicas)
        }
        rows = [
            {"topic": topic, "partition": number, "replicas": replicas}
            for (topic, number), replicas in wanted.items()
        ]
        moves = self.folder / "moves.json"
        moves.write_text(json.dumps({"version": 1, "partitions": rows}))
        touched: set[str] = set()
        args = ("reassign", "import", "moves.json", "-auto-approve", "-throttle=2M")
        code, _ = self._run_with_fault(args, name, touched)
        truth = self.observer.read()
        if code == 0:
            for (topic, number), replicas in wanted.items():
                live = truth.topics.get(topic)
                is_there = live is not None and live.replicas[number] == tuple(sorted(replicas))
                self._claim(is_there or topic in touched, f"{what}: exit 0, {topic}: {live}")

    def delete_records(self, what: str, name: str) -> None:
        """Write records and delete them."""
        topic = self.dice.choice(sorted(self.observer.read().topics) or [""])
        ends = self.observer.produce(topic, 30) if topic else []
        touched: set[str] = set()
        args = ("records", "delete", topic, "-before=end", "-auto-approve")
        code, _ = self._run_with_fault(args, name, touched)
        if code == 0 and topic not in touched:
            lows = self.observer.low_watermarks(topic, len(ends))
            self._claim(lows == ends, f"{what}: exit 0, offsets {lows} and not {ends}")

    def import_(self, what: str, name: str) -> None:
        """Let a topic go and own it again."""
        topic = self.dice.choice(sorted(self.declared.topics))
        address = f'kafka_topic.t["{topic}"]'
        self._kplan("state", "rm", address)
        touched: set[str] = set()
        code, _ = self._run_with_fault(("import", address, topic), name, touched)
        if code == 0:
            listed = self._kplan("state", "list").stdout
            self._claim(address in listed, f"{what}: exit 0, and it is not in the state")

    def _kplan(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*KPLAN, *args],
            cwd=self.folder,
            env=self.env,
            capture_output=True, text=True, check=False, timeout=400,
        )  # fmt: skip

    def _mutate(self) -> None:
        """Declare something else: more and fewer topics, other configs, factors and rights."""
        topics, acls, dice = self.declared.topics, self.declared.acls, self.dice
        for name in dice.sample(sorted(topics), min(len(topics), dice.randint(0, 4))):
            del topics[name]
            acls.pop(name, None)
        for name in dice.sample(sorted(topics), min(len(topics), dice.randint(0, 6))):
            partitions, factor, retention = topics[name]
            match dice.randint(0, 3):
                case 0:
                    topics[name] = (partitions + dice.randint(1, 2), factor, retention)
                case 1:
                    topics[name] = (partitions, 5 - factor, retention)  # 2 <-> 3
                case _:
                    topics[name] = (partitions, factor, str(DAY_MS * dice.randint(1, 90)))
        while len(topics) < 16:
            self.number += 1
            name = f"{PREFIX}{self.number:05}"
            topics[name] = (dice.randint(1, 3), dice.randint(2, 3), str(DAY_MS))
        for name in topics:
            if name not in acls or dice.random() < 0.2:
                acls[name] = dice.choice(OPERATIONS)

    def _run_with_fault(
        self, args: tuple[str, ...], name: str, touched: set[str]
    ) -> tuple[int, list[dict[str, object]]]:
        """Run kplan, strike when requests are under way, and give the items it told of."""
        out = self.folder / "out.ndjson"
        journal = journal_path(self.folder / "state" / "kplan.json")
        with (
            out.open("wb") as stdout,
            (self.folder / "err.txt").open("wb") as stderr,
            subprocess.Popen(
                [*KPLAN, *args],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            ) as process,
        ):
            begun = time.monotonic()
            patience_s = 60.0 if args[0] in {"apply", "destroy"} else self.dice.uniform(0.3, 1.2)
            while (
                not journal.exists()
                and process.poll() is None
                and time.monotonic() < begun + patience_s
            ):
                time.sleep(0.002)
            time.sleep(self.dice.uniform(0.0, 0.4))
            # A run that has ended, or sends nothing any more, is not struck.
            is_running = process.poll() is None
            self.tally.hits[name] += is_running and (patience_s < 60.0 or journal.exists())
            FAULTS[name](self, process, touched)
            try:
                code = process.wait(timeout=400)
            except subprocess.TimeoutExpired:
                process.kill()
                self._claim(is_so=False, sentence=f"round {self.tally.rounds}: no end in 400 s")
                code = -9
        items = []
        for line in out.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):  # a line that the kill cut off
                told = json.loads(line)
                if told.get("type") == "apply_item":
                    items.append(told["item"])
        text = (self.folder / "err.txt").read_text(encoding="utf-8", errors="replace")
        self._claim("Traceback" not in text, f"round {self.tally.rounds}: {text[-600:]}")
        self._heal()
        return code, items

    def _heal(self) -> None:
        """Wait until what was struck is up again."""
        for thread in list(THREADS):
            thread.join()
            THREADS.remove(thread)

    # ---- what is so

    def _claim(self, is_so: bool, sentence: str) -> None:
        self.tally.sentences += 1
        if not is_so:
            self.tally.false.append(sentence)
            print(f"FALSE {sentence}", file=sys.stderr, flush=True)

    def _check_items(
        self,
        what: str,
        items: list[dict[str, object]],
        truths: tuple[Truth, Truth],
        goal: Declared,
        touched: set[str],
    ) -> None:
        """Hold the last word on every item against the truth; `truths` are before and after."""
        before, truth = truths
        last = {str(each["addr"]): each for each in items}
        for address, item in last.items():
            status, kind = str(item["status"]), address.partition(".")[0]
            self.tally.statuses[status] += 1
            name = address.partition('"')[2].rstrip('"]')
            if name in touched:
                continue
            if kind == "kafka_topic":
                is_done, was_done = (goal.has_topic(name, each) for each in (truth, before))
            else:
                is_done, was_done = (goal.has_acl(name, each) for each in (truth, before))
            told = f"{what}: {address} {item['op']} {status} {item.get('error')}"
            if status == "ok":
                self._claim(is_done, f"{told}, and it is not so: {truth.topics.get(name)}")
            elif status in {"skipped", "failed", "throttled", "timed_out"}:
                is_partial = item.get("note") == "done in part"
                self._claim(not is_done or was_done or is_partial, f"{told}, and it came about")

    def _check_plan(self, what: str, truth: Truth) -> None:
        """Hold what the next plan says against what differs."""
        done = subprocess.run(
            [*KPLAN, "plan", "-json", "-detailed-exitcode", "-max-deletes=99"],
            cwd=self.folder,
            env=self.env,
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        planned = {
            str(each["change"]["resource"]["addr"])
            for each in lines
            if each["type"] == "planned_change"
            and each["change"]["action"] in {"create", "update", "replace"}
        }
        differs = self.declared.differences(truth)
        self._claim(planned == differs, f"{what}: it plans {planned ^ differs} wrongly")
        self._claim(done.returncode in {0, 2}, f"{what}: exit {done.returncode}: {done.stderr}")

    def _finish(self, what: str) -> None:
        """Finish what was begun and apply the rest; then all is as declared and a plan is empty."""
        journal = journal_path(self.folder / "state" / "kplan.json")
        runs = (("apply", "-resume"),) if journal.exists() else ()
        for args in (*runs, ("apply", "-auto-approve", "-max-deletes=99")):
            done = subprocess.run(
                [*KPLAN, *args],
                cwd=self.folder,
                env=self.env,
                capture_output=True, text=True, check=False, timeout=400,
            )  # fmt: skip
            told = " ".join((done.stdout[-300:] + done.stderr[-700:]).split())
            # What others have changed meanwhile may be no more what was approved.
            is_fine = done.returncode == 0 or (args[-1] == "-resume" and "approved" in told)
            self._claim(is_fine, f"{what}: {' '.join(args)} exits {done.returncode}: {told}")
        truth = self.observer.read()
        left = self.declared.differences(truth)
        self._claim(not left, f"{what}: finished, and not as declared: {sorted(left)[:3]}")
        extra = truth.topics.keys() - self.declared.topics.keys() - STRANGERS
        self._claim(not extra, f"{what}: finished, and there is {sorted(extra)[:3]} still")
        self._check_plan(f"{what}: last plan", truth)


# ---- faults

Fault = Callable[[Soak, "subprocess.Popen[bytes]", set[str]], None]
THREADS: list[threading.Thread] = []
STRANGERS: set[str] = set()
"""Topics that were created again behind kplan's back and are not its own any more."""


def _beside(strike: Callable[[], None]) -> None:
    thread = threading.Thread(target=strike)
    thread.start()
    THREADS.append(thread)


def _signal(number: signal.Signals) -> Fault:
    def strike(_: Soak, process: "subprocess.Popen[bytes]", __: set[str]) -> None:
        if process.poll() is None:
            os.kill(process.pid, number)

    return strike


def _kill_broker(soak: Soak, _: object, __: set[str]) -> None:
    node = soak.dice.choice([each.id for each in soak.sandbox.nodes if each.is_broker])

    def strike() -> None:
        fault.kill(soak.sandbox.folder, node)
        time.sleep(3)
        fault.restart(soak.sandbox.folder, node)

    _beside(strike)


def _pause_broker(soak: Soak, _: object, __: set[str]) -> None:
    node = soak.dice.choice([each.id for each in soak.sandbox.nodes if each.is_broker])
    seconds = soak.dice.uniform(1, 9)

    def strike() -> None:
        fault.pause(soak.sandbox.folder, node)
        time.sleep(seconds)
        fault.resume(soak.sandbox.folder, node)

    _beside(strike)


def _kill_controller(soak: Soak, _: object, __: set[str]) -> None:
    _beside(lambda: kill_active_controller(2)(soak.sandbox))


def _other_deletes(soak: Soak, _: object, touched: set[str]) -> None:
    topics = sorted(soak.declared.topics)
    names = soak.dice.sample(topics, min(2, len(topics)))
    touched.update(names)
    soak.observer.delete(names)


def _other_recreates(soak: Soak, _: object, touched: set[str]) -> None:
    name = soak.dice.choice(sorted(soak.declared.topics))
    touched.add(name)
    soak.observer.delete([name])
    time.sleep(0.3)
    soak.observer.create(name, 1, 2)


def _other_alters(soak: Soak, _: object, touched: set[str]) -> None:
    name = soak.dice.choice(sorted(soak.declared.topics))
    touched.add(name)
    soak.observer.alter(name, "1234567")


def _other_cancels(soak: Soak, _: object, touched: set[str]) -> None:
    touched.update(soak.declared.topics)  # any of them may be moving
    subprocess.run(
        [*KPLAN, "reassign", "cancel", "-all", "-auto-approve"],
        cwd=soak.folder,
        env=soak.env,
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip


def _full_disk(_soak: Soak, process: "subprocess.Popen[bytes]", _: set[str]) -> None:
    """Let no file of the process grow any more, as a full disk or a quota does."""
    if process.poll() is None:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                ["prlimit", f"--pid={process.pid}", "--fsize=1:1"], check=False, timeout=10
            )


FAULTS: dict[str, Fault] = {
    "none": lambda *_: None,
    "SIGKILL": _signal(signal.SIGKILL),
    "SIGINT": _signal(signal.SIGINT),
    "SIGTERM": _signal(signal.SIGTERM),
    "broker killed, restarted": _kill_broker,
    "broker paused": _pause_broker,
    "active controller killed": _kill_controller,
    "disk full": _full_disk,
    "other client deletes": _other_deletes,
    "other client re-creates": _other_recreates,
    "other client alters": _other_alters,
    "other client cancels moves": _other_cancels,
}


VERBS: dict[str, Callable[[Soak, str, str], None]] = {
    "apply": Soak.apply,
    "destroy": Soak.destroy,
    "reassign import": Soak.reassign,
    "records delete": Soak.delete_records,
    "import": Soak.import_,
}


def table(tally: Tally) -> Iterator[str]:
    """Write what came of it."""
    yield f"{'fault':<30}{'rounds':>8}{'hit a running request':>24}"
    for name in FAULTS:
        yield f"{name:<30}{tally.drawn[name]:>8}{tally.hits[name]:>24}"
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(tally.statuses.items()))
    yield ", ".join(f"{count} {verb}" for verb, count in sorted(tally.verbs.items()))
    yield f"{tally.rounds} rounds; items: {counts}"
    yield f"{tally.sentences:,} sentences compared with the truth, {len(tally.false)} false"


def run_rounds(count: int, seed: int, folder: Path) -> Tally:
    """Go through so many rounds on one cluster; a note of each false sentence goes to stderr."""
    with temporary_sandbox(SPEC) as sandbox:
        soak = Soak(sandbox, folder, seed)
        for number in range(1, count + 1):
            soak.round()
            if number % 10 == 0:
                print(
                    f"{number} rounds, {len(soak.tally.false)} false", file=sys.stderr, flush=True
                )
        return soak.tally
