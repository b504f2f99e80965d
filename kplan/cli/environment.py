"""The environment variables that kplan reads, and warnings about unknown ones."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kplan.state.plan_file import SignatureCheck

VARIABLES: Mapping[str, str] = {
    "KPLAN_A11Y": "write words instead of symbols, without animation",
    "KPLAN_ALLOW_DIRECT": "true: allow changes through a direct connection to controllers",
    "KPLAN_ALLOW_PLAINTEXT_SASL": "true: allow a SASL login over a network without TLS",
    "KPLAN_APPLY_HINT": "how a plan is applied or who may, for its report in CI",
    "KPLAN_BOOTSTRAP_CONTROLLERS": "controllers to connect to instead of brokers, host:port,...",
    "KPLAN_BOOTSTRAP_SERVERS": "brokers to connect to first, host:port,...",
    "KPLAN_CACHE": "the folder for downloads, and for what makes Java start faster",
    "KPLAN_CLI_ARGS": "arguments for every command; KPLAN_CLI_ARGS_plan for one command",
    "KPLAN_CLUSTER_NAME": "the name of the cluster in titles of reports and in metrics",
    "KPLAN_COMMAND_CONFIG": "a Java properties file with connection settings",
    "KPLAN_CONNECTION": "environment: no provider block may set any of the connection",
    "KPLAN_DISABLE_CI_DETECTION": "true: ignore that this is a CI job",
    "KPLAN_DOCS_URL": "where the manual is (`poe site` builds it), for links from diagnostics",
    "KPLAN_INPUT": "false: never ask for approval",
    "KPLAN_IN_AUTOMATION": "true: omit hints about the next command (also TF_IN_AUTOMATION)",
    "KPLAN_LOCK_TIMEOUT": "how long to wait for the lock of the state, for example 5m",
    "KPLAN_LOG": "log level for stderr: trace, debug (every request), info, warn or error",
    "KPLAN_LOG_PATH": "log to this file instead of stderr",
    "KPLAN_MAVEN_REPOSITORY": "the Maven repository for the sandbox, instead of Maven Central",
    "KPLAN_NOTIFY": "the webhook that receives drift, as with -notify",
    "KPLAN_PARALLELISM": "write requests in flight at a time, 2 by default",
    "KPLAN_PLAN_KEY": "the key that signs saved plans; apply takes no others then",
    "KPLAN_PLAN_SIGNERS": "allowed SSH signers; apply takes only plans that one of them signed",
    "KPLAN_PUSH": "the push gateway that receives metrics of drift, as with -push",
    "KPLAN_REPORT_URL": "where the HTML report of this CI job will be, for links to it",
    "KPLAN_STATE": "the state file",
    "KPLAN_WORKSPACE": "the workspace, before TF_WORKSPACE and .terraform/environment",
}
PREFIXES: Mapping[str, str] = {
    "KPLAN_VAR_": "the value of an input variable (also TF_VAR_name)",
    "KPLAN_CLI_ARGS_": "arguments for one command",
    "KPLAN_CONNECT_": "URL, USERNAME, PASSWORD and CA_CERT of Kafka Connect's REST API",
    "KPLAN_SASL_": "SASL settings of the connection",
    "KPLAN_SCHEMA_REGISTRY_": "URL, USERNAME, PASSWORD and CA_CERT of the schema registry",
    "KPLAN_TLS_": "TLS settings of the connection; KPLAN_TLS_ENABLED is true by default",
}


def signature_check(environ: Mapping[str, str]) -> "SignatureCheck":
    """Return which signatures saved plans must have."""
    from kplan.state.plan_file import SignatureCheck  # noqa: PLC0415 - help needs none of it

    signers = environ.get("KPLAN_PLAN_SIGNERS", "")
    return SignatureCheck(environ.get("KPLAN_PLAN_KEY", ""), Path(signers) if signers else None)


_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?@!$&*+,;=%\[\]-]+")
"""What may be put into a link: nothing that ends one in Markdown or HTML."""


def docs_url(environ: Mapping[str, str]) -> str:
    """Return the address of the manual, "" if there is none or it is no address."""
    found = environ.get("KPLAN_DOCS_URL", "")
    return found if _ADDRESS.fullmatch(found) else ""


def unknown_variable_warnings(environ: Mapping[str, str]) -> Iterator[str]:
    """Return one sentence for each unknown `KPLAN_*` variable."""
    for name in sorted(environ):
        if name.startswith("KPLAN_") and name not in VARIABLES and not _has_known_prefix(name):
            known = [each.removeprefix("KPLAN_") for each in VARIABLES]
            close = get_close_matches(name.removeprefix("KPLAN_"), known, n=1)
            meant = f" Did you mean KPLAN_{close[0]}?" if close else ""
            yield f"Unknown environment variable {name}.{meant}"


def _has_known_prefix(name: str) -> bool:
    return any(name.startswith(prefix) and name != prefix for prefix in PREFIXES)
