import subprocess
import sys

ALONE = """
import sys
from kplan.kinds.topic import Topic, TopicKind
from kplan.plan.diff import attribute_changes
(found,) = attribute_changes(TopicKind(), Topic("a", 1, 1), Topic("a", 2, 1))
assert found.path == ("partitions",)
print(*sorted({"numpy", "pandas"} & set(sys.modules)))
"""


def test_array_libraries_are_not_loaded_to_compare_two_topics() -> None:
    """They would cost a plan more than a second where kplan[fleet] is installed."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
