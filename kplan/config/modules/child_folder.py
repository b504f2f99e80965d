"""The folder of a called module: beside the caller, or in a package that was fetched."""

from collections.abc import Sequence

from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.file import join_path
from kplan.config.diagnostic import EvaluationError, OperandError, error
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.modules.evaluation import EvaluationContext, ModulePlace
from kplan.config.packages.installed import package_root
from kplan.config.packages.source import PackageSource, is_local_source, parse_source
from kplan.config.version import Constraint, parse_constraints
from kplan.model.diagnostic import SourceRange

MAX_MODULE_DEPTH = 32


def child_folder(declaration: Declaration, place: ModulePlace, context: EvaluationContext) -> str:
    """Find the folder of a called module.

    Raises:
        EvaluationError: the source is none, there is no such folder, or it is not installed.

    """
    folder = source_folder(declaration, place.folder, place.path, context)
    subject = declaration.value_range("source")
    if not context.folders.exists(folder):
        raise EvaluationError([error("KP193", subject, f"There is no folder {folder}.")])
    real = context.folders.real_path
    if real(folder) in map(real, (*place.callers, place.folder)):
        detail = "The source leads back to a module that leads here: it would call itself."
        raise EvaluationError([error("KP145", subject, detail)])
    if len(place.path) >= MAX_MODULE_DEPTH:
        raise EvaluationError(
            [error("KP114", subject, f"Modules call each other {MAX_MODULE_DEPTH} deep.")]
        )
    return folder


def source_folder(
    declaration: Declaration, caller: str, path: Sequence[str], context: EvaluationContext
) -> str:
    """Return the folder that a source names, whether it exists or not.

    `caller` and `path` are the folder and the steps of the module with the block.

    Raises:
        EvaluationError: the source is none, or is not installed.

    """
    scope = context.constant_scope(declaration.origin)
    source = module_source(declaration, scope)
    subject = declaration.value_range("source")
    if not isinstance(source, PackageSource):
        return local_folder(source, caller, subject)
    constraints = _version_constraints(declaration, scope)
    steps = (*(each.partition("[")[0] for each in path), declaration.name)
    try:
        return context.installed.folder(source, ".".join(steps), constraints)
    except OperandError as fault:
        raise EvaluationError([error(fault.code, subject, fault.detail, hint=fault.hint)]) from None


def _version_constraints(declaration: Declaration, scope: Scope) -> tuple[Constraint, ...]:
    """Evaluate the `version` of a call; raises EvaluationError where it is no constraint."""
    if "version" not in declaration.arguments:
        return ()
    text = evaluate(declaration.arguments["version"].value, scope)
    found = parse_constraints(text) if isinstance(text, str) else None
    if found is None:
        detail = 'The version of a module is a constraint such as "~> 1.2".'
        raise EvaluationError([error("KP342", declaration.value_range("version"), detail)])
    return found


def local_folder(source: str, caller: str, subject: SourceRange) -> str:
    """Return the folder that a local source names in a module of the folder `caller`.

    Raises:
        EvaluationError: it leaves the package that the module is in.

    """
    folder, package = join_path(caller, source), package_root(caller)
    if package and folder != package and not folder.startswith(f"{package}/"):
        detail = f'"{source}" leads out of the package of the module, {package}.'
        raise EvaluationError([error("KP506", subject, detail)])
    return folder


def module_source(declaration: Declaration, scope: Scope) -> str | PackageSource:
    """Evaluate the source of a module block: a local path as it is written, or a package.

    Raises:
        EvaluationError: it is no source.

    """
    if "source" not in declaration.arguments:
        raise EvaluationError
    subject = declaration.value_range("source")
    text = evaluate(declaration.arguments["source"].value, scope)
    if not isinstance(text, str):
        detail = "The source of a module is a string."
        summary = "Invalid module source address"
        raise EvaluationError([error("KP194", subject, detail, summary=summary)])
    if is_local_source(text):
        _check_version(declaration, "a local path")
        return text
    try:
        source = parse_source(text)
    except OperandError as fault:
        # The line of the source is not shown: it may contain a password.
        found = error(fault.code, declaration.declared_at, fault.detail, hint=fault.hint)
        raise EvaluationError([found]) from None
    if source.kind != "registry":
        _check_version(declaration, f"of the sort {source.kind}")
    return source


def _check_version(declaration: Declaration, sort: str) -> None:
    if "version" in declaration.arguments:
        detail = f"A version is for sources in a registry of modules, and this one is {sort}."
        hint = "Remove version; a git source has it in its address: ?ref=v1.2.0"
        subject = declaration.value_range("source")
        raise EvaluationError([error("KP507", subject, detail, hint=hint)])
