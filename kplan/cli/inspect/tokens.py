"""`kplan tokens list`, `create`, `renew` and `expire`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions, duration_s
from kplan.cli.query import QueryOptions, query_cluster, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb

EXPIRE_QUESTION = """
Do you really want token {token} to end?
  Whoever logs in with it is refused from then on.
  Only 'yes' will be accepted to confirm.

  Enter a value: """

TokenId = Annotated[str, typer.Argument(metavar="ID", help="The id of the token.")]


@verb(
    ("kplan tokens list", "All that we may see."),
    ("kplan tokens list -owner='User:app*' -json", "Those of some owners, for scripts."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    owner: Annotated[
        str, typer.Option("--owner", metavar="GLOB", help="Only owners that fit, with * and ?.")
    ] = "*",
) -> int:
    """List the delegation tokens of the cluster.

    Owner, renewers and times are told, never the secret. Only over a connection by SASL or with a
    certificate do brokers tell them: ours and those that we may describe.
    """
    from kplan.workflow.inspect.tokens import list_tokens  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, partial(list_tokens, owner=owner))


@verb(
    ("kplan tokens create -renewer=User:scheduler", "For ourselves; another one may renew it."),
    ("kplan tokens create -owner=User:app -lifetime=48h -json", "For another user, for scripts."),
)
def create(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    owner: Annotated[
        str, typer.Option("--owner", metavar="PRINCIPAL", help="For this user, not for us.")
    ] = "",
    renewer: Annotated[
        list[str] | None,
        typer.Option("--renewer", metavar="PRINCIPAL", help="Who may renew it too (repeatable)."),
    ] = None,
    lifetime: Annotated[
        str,
        typer.Option("--lifetime", metavar="SPAN", help="How long it can be renewed, as in 168h."),
    ] = "",
) -> int:
    """Make a delegation token, and tell its secret once.

    With the id as user name and the secret as password clients log in by SCRAM, with
    tokenauth=true. The secret is written to stdout and nowhere else.
    """
    from kplan.cluster.settings import TokenRequest  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.workflow.inspect.tokens import create_token, token_details  # noqa: PLC0415

    order = TokenRequest(owner, tuple(renewer or ()), _duration_ms("-lifetime", lifetime))
    made = token_details(
        query_cluster(session, inputs, ask.provider, partial(create_token, order=order))
    )
    lines = (
        f"{name + ':':<15}{', '.join(told) if isinstance(told, list) else told}".rstrip()
        for name, told in made.items()
    )
    session.terminal.write_stdout(json_text(made) if ask.json else "\n".join(lines) + "\n")
    return 0


@verb(
    ("kplan tokens renew 3tJ9Qh1jQ0qk0xVv8k0y9A", "For as long as the brokers have as default."),
    ("kplan tokens renew 3tJ9Qh1jQ0qk0xVv8k0y9A -for=12h", "For twelve hours from now."),
)
def renew(
    session: Session,
    token: TokenId,
    inputs: InputOptions,
    ask: QueryOptions,
    span: Annotated[
        str, typer.Option("--for", metavar="SPAN", help="How long from now, as in 24h.")
    ] = "",
) -> int:
    """Let a delegation token be valid for longer.

    Its owner and its renewers may do so, up to the end of its life. The secret is not asked for.
    """
    from kplan.workflow.inspect.tokens import renew_token  # noqa: PLC0415 - help needs it not

    question = partial(renew_token, token=token, span_ms=_duration_ms("-for", span))
    until = query_cluster(session, inputs, ask.provider, question)
    return _show_expiry(session, ask, token, until, "is valid until")


@verb(
    ("kplan tokens expire 3tJ9Qh1jQ0qk0xVv8k0y9A", "At once, asking."),
    ("kplan tokens expire 3tJ9Qh1jQ0qk0xVv8k0y9A -in=1h -auto-approve", "In an hour."),
)
def expire(
    session: Session,
    token: TokenId,
    inputs: InputOptions,
    ask: QueryOptions,
    span: Annotated[
        str, typer.Option("--in", metavar="SPAN", help="How long from now, as in 1h; else at once.")
    ] = "",
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Let a delegation token end.

    Its owner and its renewers may do so. Connections that stand go on until they log in anew.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415
    from kplan.workflow.inspect.query import query_cluster  # noqa: PLC0415
    from kplan.workflow.inspect.tokens import expire_token  # noqa: PLC0415

    question = partial(expire_token, token=token, span_ms=_duration_ms("-in", span))
    until = ClusterChange(session, inputs, ask, auto_approve).run(
        "tokens expire",
        lambda project, ports, say: (
            query_cluster(project, ports, ask.provider, question)
            if say(EXPIRE_QUESTION.format(token=token))
            else None
        ),
    )
    return ExitCode.ERROR if until is None else _show_expiry(session, ask, token, until, "ends at")


def _duration_ms(option: str, span: str) -> int:
    """Read a span; none is what the brokers have as default, or at once. Raises UsageError."""
    return int(duration_s(option, span) * 1000) if span else -1


def _show_expiry(session: Session, ask: QueryOptions, token: str, until: int, what: str) -> int:
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.inspect.tokens import format_time  # noqa: PLC0415

    if ask.json:
        session.terminal.write_stdout(json_text({"token": token, "expires": format_time(until)}))
    else:
        session.terminal.write_stdout(f"Token {token} {what} {format_time(until)}.\n")
    return 0
