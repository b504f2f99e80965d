"""Options that several verbs share, in groups: one field, one option."""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

Json = Annotated[bool, typer.Option("--json", help="Write JSON for machines to stdout.")]
AutoApprove = Annotated[
    bool, typer.Option("--auto-approve", help="Carry the plan out without asking.")
]
Deadline = Annotated[
    str,
    typer.Option(
        "--deadline",
        metavar="SPAN",
        help="After this time, as in 10m, nothing more is sent; without it after 1h.",
    ),
]

SkipForeign = Annotated[
    bool,
    typer.Option("--skip-foreign", help="Leave out resources of other providers, and count them."),
]

Group = Annotated[
    bool | None,
    typer.Option(
        "--group/--no-group",
        help="Show ACLs in a table per principal, or each by itself for tools to find.",
        show_default="a table, but not in CI and automation",
    ),
]

Report = Annotated[
    list[str],
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="Write a report (repeatable): markdown (md), html, junit, sarif, gitlab, github, "
        "azure, prometheus, slack, json, ndjson or text; - as FILE is stdout, instead of the text.",
    ),
]

BootstrapController = Annotated[
    str,
    typer.Option(
        "--bootstrap-controller",
        metavar="HOST:PORT,...",
        help="Ask these controllers and no broker, whatever is configured (KIP-919).",
    ),
]

Provider = Annotated[
    str,
    typer.Option(
        "--provider", metavar="ALIAS", help="The cluster of this provider block, where several are."
    ),
]
Match = Annotated[
    str, typer.Option("--match", metavar="GLOB", help="Only names that fit, with * and ?.")
]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        metavar="PATH",
        help="Ask these policies too: a folder, a Python file, or the name under which a package "
        "offers one (repeatable).",
    ),
]
Overrides = Annotated[
    list[str],
    typer.Option(
        "--override",
        metavar="POLICY=REASON",
        help="Let through what a soft policy refuses; the reason is recorded (repeatable).",
    ),
]

DEFAULT_STATE_PATH = "state/kplan.json"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How the result is told to machines."""

    json: Json = False
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode",
            help="Exit with 2 for changes, and tell errors apart: 3 refused, 4 partly applied, 5 "
            "outcome unknown, 6 locked or stale, 7 unreachable.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class ReportOptions(OutputOptions):
    """How the result is told to machines, and what is written for others to read."""

    report: Report = field(default_factory=list)

    @property
    def has_report_on_stdout(self) -> bool:
        """Whether a report takes the place of the text on stdout."""
        return any(each.partition("=")[2] == "-" for each in self.report)


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Where the values of input variables come from, and what of the files is read.

    `-var` and `-var-file` count in the order in which they stand: see `Session.args`.
    """

    var: Annotated[
        list[str],
        typer.Option("--var", metavar="NAME=VALUE", help="Set an input variable (repeatable)."),
    ] = field(default_factory=list)
    var_file: Annotated[
        list[str],
        typer.Option("--var-file", metavar="FILE", help="Read input variables (repeatable)."),
    ] = field(default_factory=list)
    skip_foreign: SkipForeign = False
    input: Annotated[
        bool,
        typer.Option(
            "--input/--no-input", help="Whether kplan may ask; it asks for approval only."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class StateOptions:
    """Which state, and how to lock it; "" stands for what the environment says."""

    state: Annotated[
        str,
        typer.Option(
            "--state",
            metavar="FILE",
            help="The state file, whatever a state block says; KPLAN_STATE names another default.",
            show_default=DEFAULT_STATE_PATH,
        ),
    ] = ""
    lock: Annotated[
        bool, typer.Option("--lock/--no-lock", help="Lock the state against other runs.")
    ] = True
    lock_timeout: Annotated[
        str,
        typer.Option(
            "--lock-timeout",
            metavar="SPAN",
            help="How long to wait for another run, as in 30s or 5m; or KPLAN_LOCK_TIMEOUT.",
            show_default="0s",
        ),
    ] = ""

    def path(self, environ: Mapping[str, str]) -> Path:
        """Give the state file."""
        return Path(self.state or environ.get("KPLAN_STATE") or DEFAULT_STATE_PATH)

    def lock_timeout_s(self, environ: Mapping[str, str]) -> float:
        """Give how long to wait for the lock, in seconds. Raises UsageError."""
        if self.lock_timeout:
            return duration_s("-lock-timeout", self.lock_timeout)
        return duration_s("KPLAN_LOCK_TIMEOUT", environ.get("KPLAN_LOCK_TIMEOUT") or "0s")


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    """What narrows or bends a plan."""

    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            metavar="ADDRESS",
            help="Plan only this resource, or all of a block (repeatable).",
        ),
    ] = field(default_factory=list)
    replace: Annotated[
        list[str],
        typer.Option(
            "--replace",
            metavar="ADDRESS",
            help="Delete this topic with its records and create it anew (repeatable).",
        ),
    ] = field(default_factory=list)
    acknowledge_data_loss: Annotated[
        list[str],
        typer.Option(
            "--acknowledge-data-loss",
            metavar="ADDRESS",
            help="The records that -replace deletes here may go; a terminal asks for the name "
            "instead (repeatable).",
        ),
    ] = field(default_factory=list)
    refresh: Annotated[
        bool,
        typer.Option("--refresh/--no-refresh", help="kplan always reads the cluster; keep it on."),
    ] = True
    broker_validate: Annotated[
        bool,
        typer.Option(
            "--broker-validate/--no-broker-validate",
            help="Ask the brokers whether they would carry the plan out.",
        ),
    ] = True
    parallelism: Annotated[
        int | None,
        typer.Option(
            "--parallelism",
            metavar="N",
            help="Write requests under way at a time, where their order is free. They are large, "
            "and the controller takes them one by one: more than 2 gain little.",
            show_default="KPLAN_PARALLELISM, or 2",
        ),
    ] = None
    max_deletes: Annotated[
        int | None,
        typer.Option(
            "--max-deletes",
            metavar="N",
            min=0,
            help="Refuse a plan that deletes more objects; replaced ACLs do not count.",
            show_default="of 10 objects and more 30 %, and 10 at most",
        ),
    ] = None
    policy: Policies = field(default_factory=list)
    policy_mode: Annotated[
        str,
        typer.Option(
            "--policy-mode",
            metavar="MODE",
            help="item: what is refused is left out, and the rest goes on; all: nothing is done "
            "unless all may be.",
            show_default="item, or what the policies block says",
        ),
    ] = ""
    override: Overrides = field(default_factory=list)
    as_principal: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="PRINCIPAL",
            help="Whom policies take the change to be from, as in User:ci.",
            show_default="the principal of the connection",
        ),
    ] = ""
    max_dangerous: Annotated[
        int | None,
        typer.Option(
            "--max-dangerous", metavar="N", min=0, help="Refuse a plan with more such changes."
        ),
    ] = None
    max_change_pct: Annotated[
        int | None,
        typer.Option(
            "--max-change-pct",
            metavar="P",
            min=0,
            max=100,
            help="Refuse a plan that touches more than P percent of what is owned.",
        ),
    ] = None
    accept: Annotated[
        list[str],
        typer.Option(
            "--accept",
            metavar="CODE",
            help="Let the plan through where this guard of access refuses it (repeatable).",
        ),
    ] = field(default_factory=list)
    compact_warnings: Annotated[
        bool,
        typer.Option("--compact-warnings", help="Show warnings as their summaries only."),
    ] = False
    group: Group = None
    bootstrap_controller: BootstrapController = ""

    def check(self) -> None:
        """Refuse what kplan cannot do. Raises UsageError."""
        if not self.refresh:
            raise UsageError(
                "kplan cannot plan without reading the cluster.",
                hint="Leave -refresh=false out; a read takes a handful of requests.",
            )
        if self.parallelism is not None and self.parallelism < 1:
            raise UsageError(f"-parallelism is 1 or more, not {self.parallelism}.")
        for each in self.target:
            _check_target(each)
        for option, addresses in (
            ("-replace", self.replace),
            ("-acknowledge-data-loss", self.acknowledge_data_loss),
        ):
            for each in addresses:
                _check_address(option, each)
        if self.policy_mode not in _POLICY_MODES:
            raise UsageError(f'-policy-mode={self.policy_mode} is neither "item" nor "all".')
        if self.as_principal and ":" not in self.as_principal:
            raise UsageError(f"-as={self.as_principal} is no principal.", hint="As in -as=User:ci.")

    def parallel_requests(self, environ: Mapping[str, str]) -> int | None:
        """How many requests may be under way; None leaves it to kplan. Raises UsageError."""
        asked = environ.get("KPLAN_PARALLELISM", "")
        if self.parallelism is not None or not asked:
            return self.parallelism
        if not asked.isascii() or not asked.isdecimal() or int(asked) < 1:
            raise UsageError(f"KPLAN_PARALLELISM={asked} is no number of 1 or more.")
        return int(asked)

    @property
    def overrides(self) -> Mapping[str, str]:
        """The reasons to override policies by name. Raises UsageError."""
        found: dict[str, str] = {}
        for each in self.override:
            name, _, reason = each.partition("=")
            if not name.strip() or not reason.strip():
                raise UsageError(
                    f"-override={each} gives no reason.",
                    hint="Say why, for the record: -override 'NAME=REASON'",
                )
            found[name.strip()] = reason.strip()
        return found


_POLICY_MODES = ("", "item", "all")


def _check_address(option: str, address: str) -> None:
    try:
        Address.parse(address)
    except ValueError:
        raise UsageError(
            f"{option}={address} is no resource address.",
            hint="Write it as kafka_topic.NAME, or 'kafka_topic.NAME[\"KEY\"]' in quotes for the "
            "shell.",
        ) from None


def _check_target(target: str) -> None:
    """Refuse what can fit nothing; most often a shell has taken the quotes of a key."""
    if {"*", "?"}.isdisjoint(target):
        try:
            Address.parse(target)
        except ValueError:
            raise UsageError(
                f"-target={target} is no resource address.", hint=_TARGET_HINT
            ) from None


_TARGET_HINT = (
    "Write it as kafka_topic.NAME, 'kafka_topic.NAME[\"KEY\"]' in quotes for the shell, "
    "module.NAME, or with * as a pattern."
)


_MAX_DURATION_S = 100 * 366 * 86_400.0


def duration_s(option: str, text: str) -> float:
    """Read a span of time as Go writes it (`90s`, `1m30s`), in seconds.

    Raises:
        UsageError: the text is no span of time.

    """
    found = _DURATION.findall(text)
    if text == "0":
        return 0.0
    if not found or "".join(number + unit for number, unit in found) != text:
        raise UsageError(f"{option}={text} is no span of time.", hint="Write it as 30s, 5m or 1h.")
    total = sum(float(number) * _SECONDS[unit] for number, unit in found)
    if total > _MAX_DURATION_S:
        raise UsageError(f"{option}={text} is longer than a hundred years.")
    return total
