"""Each format must know every block."""

import typing

from kplan.report import document
from kplan.report.formats import text


def test_the_text_template_has_a_macro_for_every_block() -> None:
    names = {each.__name__ for each in typing.get_args(document.Block)}
    template = (text._TEMPLATES / "text.j2").read_text()
    assert {name for name in names if f"macro {name}(block)" in template} == names
    assert {name for name in names if f'"{name}": {name}' in template} == names
