"""kplan's answers and those of Kafka's own authorizer, which is asked anew."""

import random
import shutil

import pytest

from tests.unit.policy.oracle.authorizer import cases, ours, theirs

pytestmark = pytest.mark.broker  # it takes the jars of a broker


@pytest.mark.skipif(shutil.which("javac") is None, reason="takes a JDK, not only a runtime")
def test_kafkas_authorizer_answers_requests_nobody_has_seen_before_as_kplan_does() -> None:
    seed = random.SystemRandom().randrange(2**32)
    given = list(cases(seed))
    for case, said in zip(given, theirs(given), strict=True):
        assert ours(case) == said, (seed, case)
