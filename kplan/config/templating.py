"""Rendering of template texts for `templatefile` and `templatestring`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Found, Rounds, Scope
from kplan.config.functions.access import FileAccess
from kplan.config.functions.function import Function
from kplan.config.functions.host import TemplateError
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import TEMPLATE_BASE, parse_template
from kplan.config.syntax.source import Origin, Source, Spot
from kplan.config.values.value import Value
from kplan.model.diagnostic import Diagnostic


class _TemplateNames:
    """Names in a template: none but the variables, which the scope holds."""

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Refuse: what is not among the variables is not known."""
        del name
        raise self.refusal(root, subject)

    def refusal(self, root: str, subject: Spot) -> Failure:
        """Say that the variable was not given."""
        told = f'vars map does not contain key "{root}"'
        return Failure([error("KP116", subject.range(), told)], is_final=True)


@dataclass(frozen=True, slots=True)
class TemplateHost:
    """What functions may use: files, and the rendering of templates, which do not nest."""

    files: FileAccess
    functions: Mapping[str, Function] = field(repr=False)
    in_template: bool = False
    rounds: Rounds = field(default_factory=Rounds)
    _parsed: dict[tuple[str, str], tuple[ast.Node, Origin]] = field(
        default_factory=dict, repr=False
    )

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        """Evaluate a template with nothing in sight but the variables.

        Raises:
            TemplateError: the template has an error or lacks a variable.

        """
        node, origin = self._node(template, name)
        inner = TemplateHost(self.files, self.functions, in_template=True, rounds=self.rounds)
        scope = Scope(_TemplateNames(), origin, self.functions, inner, variables, self.rounds)
        try:
            return evaluate(node, scope)
        except Failure as failure:
            raise _error(failure.diagnostics[0]) from None

    def _node(self, template: str, name: str) -> tuple[ast.Node, Origin]:
        found = self._parsed.get((template, name))
        if found is None:
            source = Source(name, template)
            attribute, problems = parse_template(source)
            if attribute is None:
                raise _error(problems[0])
            found = attribute.value, Origin(source, TEMPLATE_BASE)
            self._parsed[template, name] = found
        return found


def _error(told: Diagnostic) -> TemplateError:
    place = f"{told.subject}" if told.subject else "the template"
    is_missing = told.code == "KP116"
    return TemplateError(f"{place}: {told.detail.rstrip('.')}", is_missing=is_missing)
