"""Evaluating single expressions against a folder, as `kplan console` does."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kplan.config.checks import reference_problems
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.inputs import Inputs
from kplan.config.opening import open_folder
from kplan.config.problem import Failure, error
from kplan.config.room import room_to_work
from kplan.config.syntax.parse import EXPRESSION_BASE, parse_expression
from kplan.config.syntax.source import Origin, Source
from kplan.config.values.value import Value
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic, has_errors, in_order


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression came to. With errors among the diagnostics the value means nothing."""

    value: Value = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_value(self) -> bool:
        """Whether there is a value."""
        return not has_errors(self.diagnostics)


class Console:
    """The root module of a folder, for expressions to be evaluated in.

    What it names is worked out on demand: problems come with the expression that meets them.
    `diagnostics` holds those that were there before.
    """

    def __init__(self, folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> None:
        self._root = open_folder(folder, inputs, kinds)
        self.diagnostics = in_order(self._root.run.ledger.diagnostics)

    def evaluate_text(self, text: str) -> Answer:
        """Evaluate one expression."""
        with room_to_work():
            return self._answer(text)

    def _answer(self, text: str) -> Answer:
        source = Source("<console>", text, is_file=False)
        attribute, problems = parse_expression(source)
        if attribute is None:
            return Answer(None, problems)
        module, run = self._root.module, self._root.run
        origin = Origin(source, EXPRESSION_BASE)
        static = reference_problems(attribute.references, origin, module.declared)
        told = list(static)
        if told:
            return Answer(None, in_order(told))
        before = len(run.ledger.diagnostics)
        value: Value = None
        try:
            value = evaluate(attribute.value, module.scope(origin))
        except Failure as failure:
            told.extend(failure.diagnostics)
        except RecursionError:
            subject = origin.range(attribute.value.start, attribute.value.end)
            told.append(error("KP114", subject, "The expression is nested too deeply."))
        told.extend(run.ledger.diagnostics[before:])
        return Answer(value, in_order(told))
