"""Telling how the state stands beside the cluster."""

from kplan.cli.exits import Exit
from kplan.cli.session import Session
from kplan.model.standing import Standing
from kplan.report import views
from kplan.workflow.verification import Verified


def told(session: Session, found: Verified, *, is_json: bool) -> str:
    """Write it for people or for scripts."""
    if is_json:
        return views.standings_json(found.state, found.standings, has_journal=found.has_journal)
    look = session.terminal.data_look
    return views.standings_text(found.state, found.standings, look, has_journal=found.has_journal)


def exit_code(found: Verified) -> Exit:
    """Tell whether all is as last applied; what was seen to differ counts before what was not."""
    standings = set(found.standings.values()) - {Standing.AS_APPLIED}
    if any(each.is_known for each in standings):
        return Exit.CHANGES
    return Exit.ERROR if standings else Exit.DONE
