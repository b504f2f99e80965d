"""Options that several verbs share, in groups: one field, one option."""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.trust_option import AllowPython, Overrides, Policies
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.workspace import DEFAULT_WORKSPACE, workspace_path

Json = Annotated[bool, typer.Option("--json", help="Write JSON for machines to stdout.")]
AutoApprove = Annotated[
    bool, typer.Option("--auto-approve", help="Apply the plan without asking for approval.")
]
Deadline = Annotated[
    str,
    typer.Option(
        "--deadline",
        metavar="SPAN",
        help="Send no more requests after this time, for example 10m; the default is 1h.",
    ),
]

SkipForeign = Annotated[
    bool,
    typer.Option(
        "--skip-foreign", help="Skip resources of other providers and report their number."
    ),
]

Group = Annotated[
    bool | None,
    typer.Option(
        "--group/--no-group",
        help="Show ACLs as one table per principal and equal changes once, or each as a resource.",
        show_default="together, except in CI and automation",
    ),
]

Report = Annotated[
    list[str],
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="Write a report (repeatable): markdown (md), html, junit, sarif, gitlab, github, "
        "azure, prometheus, slack, teams, json, ndjson or text. FILE - is stdout and replaces the "
        "text.",
    ),
]

BootstrapController = Annotated[
    str,
    typer.Option(
        "--bootstrap-controller",
        metavar="HOST:PORT,...",
        help="Connect to these controllers instead of brokers; overrides the configuration "
        "(KIP-919).",
    ),
]

Provider = Annotated[
    str,
    typer.Option(
        "--provider", metavar="ALIAS", help="Use the cluster of the provider block with this alias."
    ),
]
Match = Annotated[
    str,
    typer.Option(
        "--match", metavar="GLOB", help="Include only names that match this pattern with * and ?."
    ),
]
DEFAULT_STATE_PATH = "state/kplan.json"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """The format of the output and of the exit code."""

    json: Json = False
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode",
            help="Exit with 2 for changes and with one code for each error: 3 refused, 4 "
            "partly applied, 5 outcome unknown, 6 locked or stale, 7 unreachable.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class ReportOptions(OutputOptions):
    """The format of the output and of the exit code, and the reports to write."""

    report: Report = field(default_factory=list)

    @property
    def has_report_on_stdout(self) -> bool:
        """Whether a report takes the place of the text on stdout."""
        return any(each.partition("=")[2] == "-" for each in self.report)


@dataclass(frozen=True, slots=True)
class InputOptions:
    """The values of input variables, and which resources of the files to read.

    `-var` and `-var-file` count in the order in which they are typed: see `Session.args`.
    """

    var: Annotated[
        list[str],
        typer.Option("--var", metavar="NAME=VALUE", help="Set an input variable (repeatable)."),
    ] = field(default_factory=list)
    var_file: Annotated[
        list[str],
        typer.Option(
            "--var-file", metavar="FILE", help="Read input variables from a file (repeatable)."
        ),
    ] = field(default_factory=list)
    skip_foreign: SkipForeign = False
    foreign_values: Annotated[
        str,
        typer.Option(
            "--foreign-values",
            metavar="FILE",
            help="Skip resources of other providers, and take their values from this "
            "terraform.tfstate or output of terraform show -json.",
        ),
    ] = ""
    input: Annotated[
        bool,
        typer.Option("--input/--no-input", help="Ask for approval; kplan asks for nothing else."),
    ] = True


@dataclass(frozen=True, slots=True)
class StateOptions:
    """The state file and its lock; "" means the value from the environment."""

    state: Annotated[
        str,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Use this state file and ignore a state block; KPLAN_STATE sets the default.",
            show_default=DEFAULT_STATE_PATH,
        ),
    ] = ""
    lock: Annotated[
        bool, typer.Option("--lock/--no-lock", help="Lock the state during the run.")
    ] = True
    lock_timeout: Annotated[
        str,
        typer.Option(
            "--lock-timeout",
            metavar="SPAN",
            help="Wait this long for the lock, for example 5m; KPLAN_LOCK_TIMEOUT sets the "
            "default.",
            show_default="0s",
        ),
    ] = ""

    def path(self, environ: Mapping[str, str], workspace: str = DEFAULT_WORKSPACE) -> Path:
        """Return the path of the state file; `-state` names one for every workspace."""
        if self.state:
            return Path(self.state)
        return workspace_path(Path(environ.get("KPLAN_STATE") or DEFAULT_STATE_PATH), workspace)

    def lock_timeout_s(self, environ: Mapping[str, str]) -> float:
        """Return how long to wait for the lock, in seconds. Raises UsageError."""
        if self.lock_timeout:
            return duration_s("-lock-timeout", self.lock_timeout)
        return duration_s("KPLAN_LOCK_TIMEOUT", environ.get("KPLAN_LOCK_TIMEOUT") or "0s")


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    """Options that limit or change a plan."""

    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            metavar="ADDRESS",
            help="Plan only this resource, block, module or pattern with * (repeatable).",
        ),
    ] = field(default_factory=list)
    replace: Annotated[
        list[str],
        typer.Option(
            "--replace",
            metavar="ADDRESS",
            help="Delete this topic with its records and create it again (repeatable).",
        ),
    ] = field(default_factory=list)
    acknowledge_data_loss: Annotated[
        list[str],
        typer.Option(
            "--acknowledge-data-loss",
            metavar="ADDRESS",
            help="Accept that -replace deletes the records of this topic (repeatable).",
        ),
    ] = field(default_factory=list)
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh/--no-refresh",
            help="Accepted if true: every plan reads the cluster. -refresh=false is refused.",
        ),
    ] = True
    broker_validate: Annotated[
        bool,
        typer.Option(
            "--broker-validate/--no-broker-validate",
            help="Validate the plan on the brokers.",
        ),
    ] = True
    parallelism: Annotated[
        int | None,
        typer.Option(
            "--parallelism",
            metavar="N",
            help="Send up to N write requests at a time. The controller handles them one by "
            "one, so more than 2 save little time.",
            show_default="KPLAN_PARALLELISM, or 2",
        ),
    ] = None
    max_deletes: Annotated[
        int | None,
        typer.Option(
            "--max-deletes",
            metavar="N",
            min=0,
            help="Refuse a plan that deletes more than N objects; replaced ACLs do not count.",
            show_default="30 % of 10 or more objects, at most 10; none of destroy",
        ),
    ] = None
    policy: Policies = field(default_factory=list)
    allow_python: AllowPython = False
    policy_mode: Annotated[
        str,
        typer.Option(
            "--policy-mode",
            metavar="MODE",
            help="item skips refused changes and applies the rest; all applies nothing if a "
            "change is refused.",
            show_default="item, or the mode of the policies block",
        ),
    ] = ""
    override: Overrides = field(default_factory=list)
    as_principal: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="PRINCIPAL",
            help="Evaluate policies for this principal, for example User:ci.",
            show_default="the principal of the connection",
        ),
    ] = ""
    max_dangerous: Annotated[
        int | None,
        typer.Option(
            "--max-dangerous",
            metavar="N",
            min=0,
            help="Refuse a plan with more than N dangerous changes.",
        ),
    ] = None
    max_change_pct: Annotated[
        int | None,
        typer.Option(
            "--max-change-pct",
            metavar="P",
            min=0,
            max=100,
            help="Refuse a plan that changes more than P percent of the owned objects.",
        ),
    ] = None
    accept: Annotated[
        list[str],
        typer.Option(
            "--accept",
            metavar="CODE",
            help="Accept the finding with this code of the access analysis (repeatable).",
        ),
    ] = field(default_factory=list)
    compact_warnings: Annotated[
        bool,
        typer.Option("--compact-warnings", help="Show only the summaries of warnings."),
    ] = False
    group: Group = None
    bootstrap_controller: BootstrapController = ""

    def check(self) -> None:
        """Raise UsageError for options that kplan does not support."""
        if not self.refresh:
            raise UsageError(
                "kplan cannot plan without reading the cluster.",
                hint="Remove -refresh=false; reading the cluster takes a few requests.",
            )
        if self.parallelism is not None and self.parallelism < 1:
            raise UsageError(f"-parallelism must be 1 or more, not {self.parallelism}.")
        for each in self.target:
            _check_target(each)
        for option, addresses in (
            ("-replace", self.replace),
            ("-acknowledge-data-loss", self.acknowledge_data_loss),
        ):
            for each in addresses:
                _check_address(option, each)
        if self.policy_mode not in _POLICY_MODES:
            raise UsageError(f'-policy-mode={self.policy_mode} is not "item" or "all".')
        if self.as_principal and ":" not in self.as_principal:
            raise UsageError(
                f"-as={self.as_principal} is not a principal.", hint="Write it as -as=User:ci."
            )

    def parallel_requests(self, environ: Mapping[str, str]) -> int | None:
        """Return the limit of requests in flight; None for the default. Raises UsageError."""
        asked = environ.get("KPLAN_PARALLELISM", "")
        if self.parallelism is not None or not asked:
            return self.parallelism
        if not asked.isascii() or not asked.isdecimal() or int(asked) < 1:
            raise UsageError(f"KPLAN_PARALLELISM={asked} is not a number of 1 or more.")
        return int(asked)

    @property
    def overrides(self) -> Mapping[str, str]:
        """The reasons to override policies by name. Raises UsageError."""
        found: dict[str, str] = {}
        for each in self.override:
            name, _, reason = each.partition("=")
            if not name.strip() or not reason.strip():
                raise UsageError(
                    f"-override={each} has no reason.",
                    hint="Write it as -override 'NAME=REASON'.",
                )
            found[name.strip()] = reason.strip()
        return found


_POLICY_MODES = ("", "item", "all")


def _check_address(option: str, address: str) -> None:
    try:
        Address.parse(address)
    except ValueError:
        raise UsageError(
            f"{option}={address} is not a resource address.",
            hint="Write it as kafka_topic.NAME or, quoted for the shell, "
            "'kafka_topic.NAME[\"KEY\"]'.",
        ) from None


def _check_target(target: str) -> None:
    """Raise UsageError for a target that matches nothing; often a key lost its quotes."""
    if {"*", "?"}.isdisjoint(target):
        try:
            Address.parse(target)
        except ValueError:
            raise UsageError(
                f"-target={target} is not a resource address.", hint=_TARGET_HINT
            ) from None


_TARGET_HINT = (
    "Write it as kafka_topic.NAME, 'kafka_topic.NAME[\"KEY\"]' in quotes for the shell, "
    "module.NAME, or with * as a pattern."
)


_MAX_DURATION_S = 100 * 366 * 86_400.0


def duration_s(option: str, text: str) -> float:
    """Parse a duration in Go's notation (`90s`, `1m30s`) and return seconds.

    Raises:
        UsageError: the text is not a duration.

    """
    found = _DURATION.findall(text)
    if text == "0":
        return 0.0
    if not found or "".join(number + unit for number, unit in found) != text:
        raise UsageError(f"{option}={text} is not a duration.", hint="Write it as 30s, 5m or 1h.")
    total = sum(float(number) * _SECONDS[unit] for number, unit in found)
    if total > _MAX_DURATION_S:
        raise UsageError(f"{option}={text} is longer than 100 years.")
    return total
