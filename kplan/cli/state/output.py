"""`kplan output`."""

from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import UsageError
from kplan.model.state import OutputValue


@verb(
    ("kplan output", "Show every output."),
    ("kplan output -raw partitions", "Show one output without quotes, for scripts."),
    ("kplan output -json topics", "Show one output as JSON."),
    ("kplan output -raw password", "Show a sensitive output, which must be named."),
)
def output(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The output to show; all by default.")
    ] = "",
    *,
    json_: Json = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write a string, number or bool without quotes.")
    ] = False,
) -> int:
    """Show the outputs of the last apply.

    Sensitive outputs are hidden unless one is named. The state does not store them: the value then
    comes from the configuration with its variables, not from the last apply, as a warning says.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.open_project import read_stored_state  # noqa: PLC0415
    from kplan.workflow.state import output as use_case  # noqa: PLC0415

    project = build_project(session, states, inputs)
    state = read_stored_state(project)
    outputs = state.outputs if state else {}
    if not (name or raw):
        text = views.outputs_json(outputs) if json_ else use_case.outputs_text(outputs)
        session.terminal.write_stdout(text)
        session.terminal.write_stderr("" if outputs or json_ else "The state has no outputs.")
        show_diagnostics(_null_outputs(outputs) if json_ else (), session.terminal)
        return ExitCode.DONE
    one = _output_value(name, outputs)
    if one.is_sensitive:
        one = use_case.sensitive_output(project, name)
        show_diagnostics((_evaluated_output(name),), session.terminal)
    if raw:
        session.terminal.write_stdout(views.output_raw(one), end="")
    else:
        text = views.output_json(one) if json_ else use_case.output_text(one)
        session.terminal.write_stdout(text)
    return ExitCode.DONE


def _evaluated_output(name: str) -> Diagnostic:
    """Say that the value of a sensitive output is not the one that was applied."""
    return _warning(
        f'The output "{name}" is sensitive, so the state does not store it. Its value is evaluated '
        "from the configuration and the variables as they are now, not as they were applied.",
        "Give the variables of the last apply, or take the value from where it comes from.",
    )


def _null_outputs(outputs: Mapping[str, OutputValue]) -> Iterator[Diagnostic]:
    """Say once which outputs are null because they are sensitive."""
    if names := [name for name, each in sorted(outputs.items()) if each.is_sensitive]:
        yield _warning(
            f"The state does not store sensitive outputs: null is written for {', '.join(names)}.",
            "kplan output -json NAME evaluates one from the configuration as it is now, not as it "
            "was applied.",
        )


def _warning(detail: str, hint: str) -> Diagnostic:
    return Diagnostic("KP249", Severity.WARNING, SUMMARIES["KP249"], detail, hint)


def _output_value(name: str, outputs: Mapping[str, OutputValue]) -> OutputValue:
    if name in outputs:
        return outputs[name]
    names = ", ".join(sorted(outputs))
    known = f"The outputs are {names}." if outputs else "Run kplan apply first."
    if not name:
        raise UsageError("-raw requires the name of one output.", hint=known)
    raise UsageError(f'The state has no output "{name}".', hint=known)
