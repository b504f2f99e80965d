"""`kplan validate`."""

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.problems import tell
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.diagnostic import has_errors


@verb(
    ("kplan validate", "Every mistake of every file, with the line it stands on."),
    ("kplan validate -json", "The same as Terraform's validate -json writes it."),
)
def validate(session: Session, inputs: InputOptions, *, json_: Json = False) -> int:
    """Check the configuration without a cluster.

    All *.tf and *.hcl files of the folder are read; nothing is asked of any network.
    """
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import validation_json  # noqa: PLC0415
    from kplan.workflow.validate import validate as validated  # noqa: PLC0415

    found = validated(project(session, StateOptions(), inputs))
    has_failed = has_errors(found.diagnostics)
    if json_:
        session.terminal.data(validation_json(found.diagnostics, found.sources))
    else:
        tell(found.diagnostics, session.terminal, sources=found.sources)
        session.terminal.data("" if has_failed else "Success! The configuration is valid.")
    return Exit.ERROR if has_failed else Exit.DONE
