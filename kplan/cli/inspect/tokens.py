"""`kplan tokens list`, `create`, `renew` and `expire`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions, duration_s
from kplan.cli.query import QueryOptions, query_cluster, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError

EXPIRE_QUESTION = """
Do you really want to expire token {token}?
  Clients can no longer log in with it.
  Only 'yes' will be accepted to confirm.

  Enter a value: """

TokenId = Annotated[str, typer.Argument(metavar="ID", help="The id of the token.")]


@verb(
    ("kplan tokens list", "List all tokens that this user can describe."),
    ("kplan tokens list -owner='User:app*' -json", "List the tokens of some owners, for scripts."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    owner: Annotated[
        str,
        typer.Option(
            "--owner",
            metavar="GLOB",
            help="Include only owners that match this pattern with * and ?.",
        ),
    ] = "*",
) -> int:
    """List the delegation tokens of the cluster.

    The list has owner, renewers and times of each token, without the secret. Brokers answer only
    over a connection with SASL or a client certificate.
    """
    from kplan.workflow.inspect.tokens import list_tokens  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, partial(list_tokens, owner=owner))


@verb(
    ("kplan tokens create -renewer=User:scheduler", "Create a token that another user can renew."),
    ("kplan tokens create -owner=User:app -lifetime=48h -json", "Create a token for another user."),
)
def create(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    owner: Annotated[
        str, typer.Option("--owner", metavar="PRINCIPAL", help="Create the token for this user.")
    ] = "",
    renewer: Annotated[
        list[str] | None,
        typer.Option(
            "--renewer",
            metavar="PRINCIPAL",
            help="Allow this user to renew the token (repeatable).",
        ),
    ] = None,
    lifetime: Annotated[
        str,
        typer.Option(
            "--lifetime",
            metavar="SPAN",
            help="The maximum lifetime of the token, for example 168h.",
        ),
    ] = "",
) -> int:
    """Create a delegation token and print its secret once.

    Clients log in by SCRAM with the id as user name, the secret as password, and tokenauth=true.
    kplan writes the secret to stdout only.
    """
    from kplan.cluster.settings import TokenRequest  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.workflow.inspect.tokens import create_token, token_details  # noqa: PLC0415

    order = TokenRequest(owner, tuple(renewer or ()), _lifetime_ms("-lifetime", lifetime))
    facts = token_details(
        query_cluster(session, inputs, ask.provider, partial(create_token, order=order))
    )
    lines = (
        f"{name + ':':<15}{', '.join(value) if isinstance(value, list) else value}".rstrip()
        for name, value in facts.items()
    )
    session.terminal.write_stdout(json_text(facts) if ask.json else "\n".join(lines) + "\n")
    return 0


@verb(
    ("kplan tokens renew 3tJ9Qh1jQ0qk0xVv8k0y9A", "Renew a token for the default time."),
    ("kplan tokens renew 3tJ9Qh1jQ0qk0xVv8k0y9A -for=12h", "Renew a token for 12 hours from now."),
)
def renew(
    session: Session,
    token: TokenId,
    inputs: InputOptions,
    ask: QueryOptions,
    span: Annotated[
        str, typer.Option("--for", metavar="SPAN", help="The time from now, for example 24h.")
    ] = "",
) -> int:
    """Renew a delegation token.

    The owner and the renewers can renew a token, up to its maximum lifetime.
    """
    from kplan.workflow.inspect.tokens import renew_token  # noqa: PLC0415 - help needs it not

    question = partial(renew_token, token=token, span_ms=_lifetime_ms("-for", span))
    until = query_cluster(session, inputs, ask.provider, question)
    return _show_expiry(session, ask, token, until, "is valid until")


@verb(
    ("kplan tokens expire 3tJ9Qh1jQ0qk0xVv8k0y9A", "Expire a token now."),
    (
        "kplan tokens expire 3tJ9Qh1jQ0qk0xVv8k0y9A -in=1h -auto-approve",
        "Expire a token in one hour.",
    ),
)
def expire(
    session: Session,
    token: TokenId,
    inputs: InputOptions,
    ask: QueryOptions,
    span: Annotated[
        str,
        typer.Option(
            "--in", metavar="SPAN", help="The time from now, for example 1h; now by default."
        ),
    ] = "",
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Expire a delegation token.

    The owner and the renewers can expire a token. Open connections continue until they log in
    again.
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
    return (
        ExitCode.ERROR if until is None else _show_expiry(session, ask, token, until, "expires at")
    )


def _duration_ms(option: str, span: str) -> int:
    """Read a duration; without one the brokers' default applies. Raises UsageError."""
    return int(duration_s(option, span) * 1000) if span else -1


def _lifetime_ms(option: str, span: str) -> int:
    """Read a duration that is not 0, for which Kafka takes its default. Raises UsageError."""
    found = _duration_ms(option, span)
    if found == 0:
        hint = f"Leave {option} out for the default of the brokers."
        raise UsageError(f"{option}={span} is no lifetime of a token.", hint)
    return found


def _show_expiry(session: Session, ask: QueryOptions, token: str, until: int, what: str) -> int:
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.inspect.tokens import format_time  # noqa: PLC0415

    if ask.json:
        session.terminal.write_stdout(json_text({"token": token, "expires": format_time(until)}))
    else:
        session.terminal.write_stdout(f"Token {token} {what} {format_time(until)}.\n")
    return 0
