"""Constraints on versions: what Terraform 1.11.4 allows, recorded from `terraform validate`."""

import pytest

from kplan.config.version import parse_constraints, parse_version

INSTALLED = ("1.4.2", "1.4.2-beta1", "1.4.2-beta.2", "1.5.0-alpha", "2.0.0", "1.4.2.3", "1.4.2-2")
ALLOWED = {
    "1.4.2": "1.4.2",
    "v1.4.2": "1.4.2",
    "1.4.2+b": "1.4.2",
    "1.4.2-beta1": "1.4.2-beta1",
    "1.4": "",
    "!= 1.4.2": "1.4.2-beta1 1.4.2-beta.2 1.5.0-alpha 2.0.0 1.4.2.3 1.4.2-2",
    "~> 1": "1.4.2 2.0.0 1.4.2.3",
    "~> v1.4": "1.4.2 1.4.2.3",
    "~> 1.4.1": "1.4.2 1.4.2.3",
    "~>1.4.3": "",
    "~> 1.4.2.0": "1.4.2.3",
    "~> 1.4.2-beta1": "1.4.2-beta1",
    ">= 1.4.0-beta1": "1.4.2 2.0.0 1.4.2.3",
    "> 1.4.2-rc1": "1.4.2 2.0.0 1.4.2.3",
    "< 1.4.2-beta1": "1.4.2-beta.2 1.4.2-2",
    "<= 1.4.2-beta.2": "1.4.2-beta.2 1.4.2-2",
    ">= 1.4.2-beta.10": "1.4.2 1.4.2-beta1 2.0.0 1.4.2.3",
    ">=1.4.2-1": "1.4.2 1.4.2-beta1 1.4.2-beta.2 2.0.0 1.4.2.3 1.4.2-2",
    ">= 1.4, < 2": "1.4.2 1.4.2.3",
}


@pytest.mark.parametrize(("text", "allowed"), ALLOWED.items())
def test_a_constraint_allows_what_terraform_allows(text: str, allowed: str) -> None:
    constraints = parse_constraints(text)
    assert constraints
    versions = {each: parse_version(each) for each in INSTALLED}
    assert all(versions.values())
    found = [
        each
        for each, version in versions.items()
        if version and all(part.allows(version) for part in constraints)
    ]
    assert found == allowed.split()


@pytest.mark.parametrize("text", ["", "^1.4", "== 1.4.2", ">= 1.4 < 2", ">= 1.4,", "latest"])
def test_what_is_no_constraint_has_no_parts(text: str) -> None:
    assert parse_constraints(text) is None
