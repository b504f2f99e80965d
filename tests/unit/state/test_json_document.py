"""JSON of states and journals, as fast as it can be had, and for every value there can be."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.state.json_document import compact_json, indented_json

TEXT = st.text(st.characters(codec="utf-8"))
DOCUMENTS = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXT,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
        max_leaves=10,
    ),
    max_size=4,
)


@settings(deadline=None, max_examples=30)
@given(DOCUMENTS)
def test_it_is_what_the_standard_library_writes(document: dict[str, object]) -> None:
    """So states of earlier versions differ from new ones in nothing but what changed."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    assert indented_json(document).decode() == text
    assert json.loads(compact_json(document)) == document


def test_text_that_is_no_unicode_and_large_numbers_are_written_too() -> None:
    odd = {"broken": "\ud800", "large": 2**70, "fraction": 0.5}
    for written in (indented_json(odd), compact_json(odd)):
        assert json.loads(written.decode("utf-8", "surrogatepass")) == odd
