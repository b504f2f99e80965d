"""`kplan completion`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.terminal import Session
from kplan.cli.verb import verb


@verb(
    ("kplan completion -install", "Install completion for the shell that SHELL names."),
    ("kplan completion zsh", 'Write the script of zsh; eval "$(kplan completion zsh)" loads it.'),
)
def completion(
    session: Session,
    shell: Annotated[
        str,
        typer.Argument(
            metavar="SHELL", help="bash, zsh, fish or powershell.", show_default="that of SHELL"
        ),
    ] = "",
    *,
    install: Annotated[
        bool,
        typer.Option("--install", help="Write the script to the home folder and load it there."),
    ] = False,
) -> int:
    """Write or install the completion script of a shell.

    Completed are commands, options, files, and names: addresses, topics, principals, variables,
    workspaces, codes and help topics. Names come from the configuration and a state file on this
    machine; completion connects to no cluster.
    """
    from kplan.cli.shell.scripts import find_script, install_script  # noqa: PLC0415 - help needs it not

    if install:
        file = install_script(shell, session.environ)
        session.terminal.write_stderr(f"Installed {file}. It takes effect in a new shell.")
        return ExitCode.DONE
    session.terminal.write_stdout(find_script(shell, session.environ)[1])
    return ExitCode.DONE
