"""What functions may use: files, and the rendering for `templatefile` and `templatestring`."""

from collections.abc import Mapping
from dataclasses import field

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import IterationLimit, ReferenceValue, Scope
from kplan.config.functions.file_access import FileAccess
from kplan.config.functions.function import Function, TemplateError
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import TEMPLATE_BASE, parse_template
from kplan.config.syntax.source import Origin, Source, Spot
from kplan.config.values.value import Value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic


class _TemplateNames:
    """Names in a template: none but the variables, which the scope holds."""

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Refuse: what is not among the variables is not known."""
        del name
        raise self.unresolved_error(root, subject)

    def unresolved_error(self, root: str, subject: Spot) -> EvaluationError:
        """Say that the variable was not given."""
        told = f'vars map does not contain key "{root}"'
        return EvaluationError([error("KP116", subject.range(), told)], is_final=True)


@dataclass(frozen=True, slots=True)
class TemplateHost:
    """What functions may use: files, and the rendering of templates, which do not nest."""

    files: FileAccess
    functions: Mapping[str, Function] = field(repr=False)
    in_template: bool = False
    iterations: IterationLimit = field(default_factory=IterationLimit)
    _parsed: dict[tuple[str, str], tuple[ast.Node, Origin]] = field(
        default_factory=dict, repr=False
    )

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        """Evaluate a template with nothing in sight but the variables.

        Raises:
            TemplateError: the template has an error or lacks a variable.

        """
        node, origin = self._parse(template, name)
        inner = TemplateHost(
            self.files, self.functions, in_template=True, iterations=self.iterations
        )
        scope = Scope(_TemplateNames(), origin, self.functions, inner, variables, self.iterations)
        try:
            return evaluate(node, scope)
        except EvaluationError as failure:
            raise _template_error(failure.diagnostics[0]) from None

    def _parse(self, template: str, name: str) -> tuple[ast.Node, Origin]:
        found = self._parsed.get((template, name))
        if found is None:
            source = Source(name, template)
            attribute, problems = parse_template(source)
            if attribute is None:
                raise _template_error(problems[0])
            found = attribute.value, Origin(source, TEMPLATE_BASE)
            self._parsed[template, name] = found
        return found


def _template_error(told: Diagnostic) -> TemplateError:
    place = f"{told.subject}" if told.subject else "the template"
    is_missing = told.code == "KP116"
    return TemplateError(f"{place}: {told.detail.rstrip('.')}", is_missing=is_missing)
