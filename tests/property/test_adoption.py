"""Law: a cluster that was imported needs no change, whatever its objects are called."""

from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import is_normalized

from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, NewTopic
from kplan.config.format.formatter import format_text
from kplan.workflow.adopt.import_ import ImportSelection, import_all
from tests.project_harness import ProjectHarness

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
TOPICS = st.dictionaries(
    st.text("ab.-1", min_size=1, max_size=6).filter(lambda name: name not in {".", ".."}),
    st.tuples(st.integers(1, 3), st.dictionaries(st.just("retention.ms"), st.just("1"))),
    max_size=5,
)
ACLS = st.frozensets(
    st.builds(
        AclBinding,
        resource_type=st.just("GROUP"),
        resource_name=WORDS,
        pattern_type=st.sampled_from(["LITERAL", "PREFIXED"]),
        principal=st.sampled_from(["User:a", "User:*"]) | WORDS.map("User:{}".format),
        host=st.just("*"),
        operation=st.sampled_from(["READ", "DESCRIBE"]),
        permission=st.sampled_from(["ALLOW", "DENY"]),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=25)
@given(topics=TOPICS, acls=ACLS)
def test_an_imported_cluster_needs_no_change(
    topics: dict[str, tuple[int, dict[str, str]]], acls: frozenset[AclBinding]
) -> None:
    with TemporaryDirectory() as folder:
        site = ProjectHarness(Path(folder), MemoryCluster())
        site.cluster.seed([NewTopic(name, n, 1, config=c) for name, (n, c) in topics.items()], acls)
        found = import_all(site.project, site.folder / "c.tf", ImportSelection(), site.ports)
        assert len(found.owned) + len(found.unimported) == len(topics) + len(acls)
        assert not any(is_normalized("NFC", each.identity) for each in found.unimported)
        assert format_text(found.text, "c.tf") == found.text
        if found.text:
            made = site.plan().plan
            assert not made.has_changes
            assert not made.has_adoptions
