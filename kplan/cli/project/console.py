"""`kplan console`."""

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan console", "Evaluate expressions at a prompt."),
    ("kplan console -var-file=prod.tfvars", "Use the variables of another environment."),
    ("kplan console -json", 'For programs: read {"expr": "1 + 1"}, write the value.'),
)
def console(session: Session, inputs: InputOptions, *, json_: Json = False) -> int:
    """Evaluate expressions of the configuration.

    Without a terminal each line of stdin is one expression, and the exit code is 1 if one of them
    fails. With -json each line is an object, the answer is {"ok": true, "type": ..., "value": ...}
    or {"ok": false, "diagnostics": [...]}, and the exit code is 0. No network is used.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.project import console_prompt  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.project.console import open_console  # noqa: PLC0415

    terminal = session.terminal
    opened = open_console(wiring.build_project(session, StateOptions(), inputs))
    show_diagnostics(opened.diagnostics, terminal, sources=opened.sources)
    if json_:
        console_prompt.serve_json(terminal, opened)
        return ExitCode.DONE
    return ExitCode.DONE if console_prompt.run_prompt(terminal, opened) else ExitCode.ERROR
