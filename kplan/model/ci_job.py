"""What a CI job says of itself in its environment variables."""

from collections.abc import Mapping

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
