"""`kplan lint`."""

from kplan.cli.exits import Exit
from kplan.cli.options import AnswerOptions, InputOptions, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan lint", "What Kafka takes without a word and nobody can have meant."),
    ("kplan lint -json", "The same as `kplan validate -json` writes it."),
    ("kplan lint -detailed-exitcode", "For CI: 0 nothing odd, 2 something, 1 error."),
)
def lint(
    session: Session, inputs: InputOptions, states: StateOptions, answer: AnswerOptions
) -> int:
    """Find what is odd about ACLs and topics, declared and live.

    ACLs that can have no effect, that stand twice, that a Deny voids, that fit no topic; topics
    that nobody may read or write. Nothing is changed anywhere.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.problems import tell  # noqa: PLC0415
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.lint import linted  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        found = linted(project, wiring.ports(session, "lint", states, shown))
    sources = found.configuration.sources
    if answer.json:
        session.terminal.data(views.validation_json(found.diagnostics, sources))
    else:
        tell(found.diagnostics, session.terminal, sources=sources)
        count = len(found.diagnostics)
        told = "nothing odd" if not count else f"{count:,} to look at"
        session.terminal.data(f"{found.acls:,} ACLs on {found.topics:,} topics: {told}.\n")
    if any(each.is_error for each in found.diagnostics):
        return Exit.ERROR
    return Exit.CHANGES if found.diagnostics and answer.detailed_exitcode else Exit.DONE
