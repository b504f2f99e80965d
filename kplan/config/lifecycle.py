"""The `lifecycle` block of a resource."""

from kplan.config.blueprint import Blueprint, fields_of
from kplan.config.evaluation.scope import Scope
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.variables import flag
from kplan.model.resource import Lifecycle, Path


def lifecycle(plan: Blueprint, block: ast.Block, scope: Scope) -> Lifecycle:
    """Evaluate a lifecycle block; `prevent_destroy` may be any expression.

    Raises:
        Failure: an argument is not what it must be.

    """
    arguments = {each.name: each for each in block.attributes}
    adds_first = "create_before_destroy"
    return Lifecycle(
        flag(arguments, "prevent_destroy", scope, default=False),
        _ignored(arguments.get("ignore_changes"), plan, scope),
        flag(arguments, adds_first, scope, default=False) if adds_first in arguments else None,
    )


def _ignored(found: ast.Attribute | None, plan: Blueprint, scope: Scope) -> tuple[Path, ...]:
    if found is None:
        return ()
    if isinstance(found.value, ast.Name) and found.value.name == "all":
        return ((),)
    nodes = found.value.items if isinstance(found.value, ast.Tuple) else None
    if nodes is None:
        told = 'ignore_changes is a list of arguments, or the word "all".'
        raise _refusal("KP178", told, found.value, scope)
    return tuple(_ignored_path(each, plan, scope) for each in nodes)


def _ignored_path(node: ast.Node, plan: Blueprint, scope: Scope) -> Path:
    match node:
        case ast.Name(_, _, name) | ast.Literal(_, _, str() as name):
            path: Path = (name,)
        case ast.Index(target=ast.Name(_, _, name), key=ast.Literal(_, _, str() as key)):
            path = (name, key)
        case ast.GetAttr(target=ast.Name(_, _, name), name=key):
            path = (name, key)
        case _:
            told = 'This is no argument. Write its name, or one key as config["retention.ms"].'
            raise _refusal("KP178", told, node, scope)
    if path[0] not in {each.name for each in fields_of(plan.kind)}:
        told = f'A {plan.kind.name} has no argument "{path[0]}".'
        raise _refusal("KP121", told, node, scope)
    return path


def _refusal(code: str, detail: str, node: ast.Node, scope: Scope) -> Failure:
    return Failure([error(code, scope.origin.range(node.start, node.end), detail)])
