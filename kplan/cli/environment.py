"""The environment variables that kplan reads, and warnings about unknown ones."""

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
    "KPLAN_CACHE": "the folder for the downloads of the sandbox",
    "KPLAN_CLI_ARGS": "arguments for every command; KPLAN_CLI_ARGS_plan for one command",
    "KPLAN_CLUSTER_NAME": "the name of the cluster in titles of reports and in metrics",
    "KPLAN_COMMAND_CONFIG": "a Java properties file with connection settings",
    "KPLAN_CONNECTION": "environment: no provider block may set any of the connection",
    "KPLAN_DISABLE_CI_DETECTION": "true: ignore that this is a CI job",
    "KPLAN_DOCS_URL": "where the manual is, for links to the pages of codes in SARIF",
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
    "KPLAN_SASL_": "SASL settings of the connection",
    "KPLAN_TLS_": "TLS settings of the connection; KPLAN_TLS_ENABLED is true by default",
}

CI_VARIABLES = (
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "JENKINS_URL",
    "JENKINS_HOME",
    "TF_BUILD",
    "BUILDKITE",
    "CIRCLECI",
    "BITBUCKET_BUILD_NUMBER",
    "BITBUCKET_COMMIT",
    "TEAMCITY_VERSION",
    "CODEBUILD_BUILD_ID",
    "CODEBUILD_BUILD_ARN",
    "DRONE",
    "SEMAPHORE",
    "ATLANTIS_TERRAFORM_VERSION",
    "ATLANTIS_PULL_NUM",
    "SPACELIFT_RUN_ID",
    "SPACELIFT_STACK_ID",
)
"""What CI services set (the union of what infracost and Pulumi look for)."""

_FALSE_VALUES = frozenset({"", "0", "f", "false", "no", "off"})

_CI_RUN_VARIABLES = (
    "CI_JOB_URL",
    "BUILD_URL",
    "BUILDKITE_BUILD_URL",
    "CIRCLE_BUILD_URL",
    "SPACELIFT_RUN_URL",
)
_CI_COMMIT_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "GIT_COMMIT",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "BUILD_SOURCEVERSION",
    "BITBUCKET_COMMIT",
    "HEAD_COMMIT",
)


def is_enabled(environ: Mapping[str, str], *names: str) -> bool:
    """Whether one of the variables is set to a value other than false."""
    return any(environ.get(name, "").lower() not in _FALSE_VALUES for name in names)


def signature_check(environ: Mapping[str, str]) -> "SignatureCheck":
    """Return which signatures saved plans must have."""
    from kplan.state.plan_file import SignatureCheck  # noqa: PLC0415 - help needs none of it

    signers = environ.get("KPLAN_PLAN_SIGNERS", "")
    return SignatureCheck(environ.get("KPLAN_PLAN_KEY", ""), Path(signers) if signers else None)


def is_ci(environ: Mapping[str, str]) -> bool:
    """Whether the environment is that of a CI job."""
    if is_enabled(environ, "KPLAN_DISABLE_CI_DETECTION"):
        return False
    return is_enabled(environ, *CI_VARIABLES)


def ci_run_url(environ: Mapping[str, str]) -> str:
    """Return the address of the CI job, "" if unknown."""
    if run := environ.get("GITHUB_RUN_ID"):
        server, repository = (
            environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")
        )
        return f"{server}/{repository}/actions/runs/{run}"
    return next((environ[name] for name in _CI_RUN_VARIABLES if name in environ), "")


def ci_commit(environ: Mapping[str, str]) -> str:
    """Return the commit of the CI job, "" if unknown."""
    return next((environ[name] for name in _CI_COMMIT_VARIABLES if name in environ), "")


_CI_FACT_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "actor": ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_REQUESTEDFOR", "BUILDKITE_BUILD_CREATOR"),
    "branch": ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH"),
    "pull_request": ("CI_MERGE_REQUEST_IID", "ATLANTIS_PULL_NUM", "CHANGE_ID", "PULL_NUM"),
}
_CI_SERVICES: Mapping[str, str] = {
    "GITHUB_ACTIONS": "github",
    "GITLAB_CI": "gitlab",
    "JENKINS_URL": "jenkins",
    "TF_BUILD": "azure",
    "BUILDKITE": "buildkite",
    "CIRCLECI": "circleci",
    "ATLANTIS_PULL_NUM": "atlantis",
}


def ci_facts(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the known facts about the CI job, for policies; {} outside CI."""
    if not is_ci(environ):
        return {}
    found = {
        fact: next((environ[name] for name in names if environ.get(name)), "")
        for fact, names in _CI_FACT_VARIABLES.items()
    }
    name = next((each for key, each in _CI_SERVICES.items() if key in environ), "ci")
    found |= {"name": name, "run": ci_run_url(environ), "commit": ci_commit(environ)}
    return {fact: value for fact, value in found.items() if value}


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
