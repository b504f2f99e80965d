"""The environment variables kplan knows, and a word about those it does not."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

VARIABLES: Mapping[str, str] = {
    "KPLAN_A11Y": "words instead of symbols, and no moving display",
    "KPLAN_ALLOW_DIRECT": "true: changes are allowed at controllers that are asked directly",
    "KPLAN_BOOTSTRAP_CONTROLLERS": "controllers to ask in place of brokers, host:port,...",
    "KPLAN_BOOTSTRAP_SERVERS": "brokers to ask first, host:port,...",
    "KPLAN_CACHE": "the folder for what the sandbox fetches",
    "KPLAN_CLI_ARGS": "arguments put before those typed; KPLAN_CLI_ARGS_plan for one verb only",
    "KPLAN_COMMAND_CONFIG": "a Java properties file with connection settings",
    "KPLAN_DISABLE_CI_DETECTION": "treat a CI job as any other run",
    "KPLAN_INPUT": "false: never prompt",
    "KPLAN_IN_AUTOMATION": "leave out hints about what to type next (TF_IN_AUTOMATION counts too)",
    "KPLAN_LOCK_TIMEOUT": "how long to wait for the state's lock, as in 5m",
    "KPLAN_LOG": "trace, debug, info, warn or error: log to stderr",
    "KPLAN_LOG_PATH": "the file to log to instead of stderr",
    "KPLAN_MAVEN_REPOSITORY": "where the sandbox fetches Kafka from, instead of Maven Central",
    "KPLAN_NOTIFY": "the webhook that drift is told to, as with -notify",
    "KPLAN_PARALLELISM": "write requests under way at a time, 2 if not given",
    "KPLAN_PUSH": "the push gateway that drift's metrics go to, as with -push",
    "KPLAN_STATE": "the state file",
}
PREFIXES: Mapping[str, str] = {
    "KPLAN_VAR_": "the value of an input variable (TF_VAR_name counts too)",
    "KPLAN_CLI_ARGS_": "arguments put before those typed, for one verb",
    "KPLAN_SASL_": "SASL settings of the connection",
    "KPLAN_TLS_": "TLS settings of the connection",
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
    """Whether one of the variables is set to something other than a no."""
    return any(environ.get(name, "").lower() not in _FALSE_VALUES for name in names)


def is_ci(environ: Mapping[str, str]) -> bool:
    """Whether this run is a CI job, as far as its environment tells."""
    if is_enabled(environ, "KPLAN_DISABLE_CI_DETECTION"):
        return False
    return is_enabled(environ, *CI_VARIABLES)


def ci_run_url(environ: Mapping[str, str]) -> str:
    """Give the address of the CI job, "" where none is known."""
    if run := environ.get("GITHUB_RUN_ID"):
        server, repository = (
            environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")
        )
        return f"{server}/{repository}/actions/runs/{run}"
    return next((environ[name] for name in _CI_RUN_VARIABLES if name in environ), "")


def ci_commit(environ: Mapping[str, str]) -> str:
    """Give the commit that the CI job works on, "" where none is known."""
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
    """Give what is known of the CI job, for policies; {} outside of one."""
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
    """Write one line for each `KPLAN_*` variable that nothing reads."""
    for name in sorted(environ):
        if name.startswith("KPLAN_") and name not in VARIABLES and not _has_known_prefix(name):
            known = [each.removeprefix("KPLAN_") for each in VARIABLES]
            close = get_close_matches(name.removeprefix("KPLAN_"), known, n=1)
            meant = f"; did you mean KPLAN_{close[0]}?" if close else "."
            yield f"kplan does not know the environment variable {name}{meant}"


def _has_known_prefix(name: str) -> bool:
    return any(name.startswith(prefix) and name != prefix for prefix in PREFIXES)
