"""`kplan output`."""

from collections.abc import Mapping
from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError
from kplan.model.state import OutputValue


@verb(
    ("kplan output", "Every output."),
    ("kplan output -raw partitions", "One output for a script, without quotes."),
    ("kplan output -json topics", "One output as JSON."),
)
def output(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    name: Annotated[str, typer.Argument(metavar="NAME", help="One output only.")] = "",
    *,
    json_: Json = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write a string, number or bool without quotes.")
    ] = False,
) -> int:
    """Show the outputs as last applied.

    A sensitive output is never kept in the state, so its value cannot be shown.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.open_project import read_stored_state  # noqa: PLC0415

    state, look = (
        read_stored_state(build_project(session, states, inputs)),
        session.terminal.stdout_style,
    )
    outputs = state.outputs if state else {}
    if raw:
        session.terminal.write_stdout(views.output_raw(_output_value(name, outputs)), end="")
    elif name:
        one = _output_value(name, outputs)
        session.terminal.write_stdout(
            views.output_json(one) if json_ else views.output_text(one, look)
        )
    elif json_:
        session.terminal.write_stdout(views.outputs_json(outputs))
    else:
        session.terminal.write_stdout(views.outputs_text(outputs, look))
        session.terminal.write_stderr("" if outputs else "The state holds no outputs.")
    return ExitCode.DONE


def _output_value(name: str, outputs: Mapping[str, OutputValue]) -> OutputValue:
    if name in outputs:
        return outputs[name]
    known = f"There are {', '.join(sorted(outputs))}." if outputs else "Nothing is applied yet."
    if not name:
        raise UsageError("-raw needs the name of one output.", hint=known)
    raise UsageError(f'There is no output "{name}" in the state.', hint=known)
