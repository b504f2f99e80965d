"""Asking policies about a deletion of records, which is no change of any object."""

from collections.abc import Mapping

from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.diagnostic import has_errors
from kplan.model.errors import ConfigError
from kplan.model.policy import Violation
from kplan.model.resource import Identity
from kplan.model.snapshot import Snapshot
from kplan.policy.engine import (
    EvaluationOptions,
    evaluate_question,
    sort_policies,
    unused_overrides,
)
from kplan.policy.facts import ClusterFacts
from kplan.policy.question import QuestionContext, records_question
from kplan.workflow.policy.policies import open_policies
from kplan.workflow.ports import PolicyOptions, Ports

Offsets = Mapping[Identity, Mapping[int, int]]
"""The first offset that stays, by topic and partition."""


def judge_records(
    offsets: Offsets,
    seen: tuple[Configuration, Snapshot],
    options: PolicyOptions,
    ports: Ports,
) -> tuple[Violation, ...]:
    """Ask every policy that decides `delete_records`, topic by topic (K201-12).

    Raises:
        ConfigError: a policy that was asked for cannot be used.

    """
    configuration, snapshot = seen
    terms = EvaluationOptions(ports.now().date(), options.overrides)
    cluster = ClusterFacts(snapshot, tuple(kind.name for kind in KINDS))
    setting = QuestionContext(
        snapshot, KINDS, cluster, options.principal or snapshot.principal, ports.ci
    )
    with open_policies(configuration, options) as found:
        problems = (*found.diagnostics, *unused_overrides(found.policies, terms))
        if has_errors(problems):
            raise ConfigError(problems, {**configuration.sources, **found.sources})
        asked = sort_policies(found.policies)
        return tuple(
            said
            for topic in sorted(offsets)
            for said in evaluate_question(
                records_question(topic, offsets[topic], setting), asked, terms
            )
        )
