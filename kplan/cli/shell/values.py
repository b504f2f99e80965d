"""What the value of an option or argument may be, by the metavar that its help shows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kplan.cli.app import GROUPS, VERBS
from kplan.cli.code_page import code_pages
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.terminal import Session
from kplan.model.errors import KplanError

if TYPE_CHECKING:
    from kplan.workflow.ports import Project
    from kplan.workflow.project.names import NamedObject, ProjectNames


class Candidate(NamedTuple):
    """A word that completes a line, and what it is, "" where that says nothing more."""

    value: str
    text: str = ""


class Request(NamedTuple):
    """The value to complete: of which verb and parameter, after which arguments."""

    verb: str
    parameter: str
    metavar: str
    typed: str
    earlier: tuple[str, ...] = ()


class Values:
    """Lists values. A project is read only for a value that comes from one, and once."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _project(self) -> "Project":
        from kplan.cli.wiring import build_project  # noqa: PLC0415 - few completions need it

        args = [each.partition("=") for each in self._session.args]
        state = [value for name, _, value in args if name == "--state"]
        states = StateOptions(state=state[-1] if state else "")
        return build_project(self._session, states, InputOptions())

    @cached_property
    def _names(self) -> "ProjectNames":
        from kplan.workflow.project.names import read_names  # noqa: PLC0415 - as above

        return read_names(self._project)

    def find(self, request: Request) -> list[Candidate]:
        """List the values that begin with what is typed; [] where they are not known."""
        sources = self._sources()
        source = sources.get(f"{request.verb} {request.parameter}") or sources.get(request.metavar)
        if source is None:
            return []
        with suppress(KplanError, OSError):
            found = [each for each in source(request) if _begins(each.value, request.typed)]
            return sorted(set(found))
        return []

    def _sources(self) -> Mapping[str, Callable[[Request], Iterable[Candidate]]]:
        """By metavar, or by verb and parameter where the metavar is that of several things."""
        return {
            "ADDRESS": lambda _: _addresses(self._names.objects),
            "ALIAS": lambda _: _plain(self._names.providers),
            "CODE": lambda _: _codes(),
            "DIR": _folders,
            "FILE": _files,
            "FILE|DIR": _files,
            "FORMAT": lambda _: _formats(""),
            "FORMAT=FILE": _reports,
            "ID": self._identities,
            "NAME=VALUE": lambda _: (Candidate(f"{each}=") for each in self._names.variables),
            "OPERATION": lambda _: _operations(),
            "PATH": _files,
            "PLAN": _files,
            "PLANFILE": _files,
            "PRINCIPAL": lambda _: _plain(self._names.principals),
            "SHELL": lambda _: _shells(),
            "TOPIC": lambda _: _help_topics(),
            "TOPIC[:PARTITION][=OFFSET]": lambda _: _plain(self._names.topics),
            "apply --on-stale": lambda _: _stale_values(),
            "errors explain code": lambda _: _kafka_errors(),
            "explain code": lambda _: (*_codes(), *_kafka_errors()),
            "output name": lambda _: _plain(self._names.outputs),
            "plan --accept": lambda _: _acceptable_codes(),
            "apply --accept": lambda _: _acceptable_codes(),
            "destroy --accept": lambda _: _acceptable_codes(),
            "plan --policy-mode": lambda _: _plain(("all", "item")),
            "apply --policy-mode": lambda _: _plain(("all", "item")),
            "destroy --policy-mode": lambda _: _plain(("all", "item")),
            "show --only": lambda _: _plan_parts(),
            "state list addresses": lambda _: _addresses(self._owned_objects),
            "state mv source": lambda _: _addresses(self._owned_objects),
            "state rm addresses": lambda _: _addresses(self._owned_objects),
            "state show address": lambda _: _addresses(self._owned_objects),
            "topics describe name": lambda _: _plain(self._names.topics),
            "topics offsets name": lambda _: _plain(self._names.topics),
            "workspace delete name": lambda _: self._workspaces(),
            "workspace select name": lambda _: self._workspaces(),
        }

    @property
    def _owned_objects(self) -> "tuple[NamedObject, ...]":
        """What the state owns; a state elsewhere is taken to own what is declared."""
        return self._names.owned or self._names.declared

    def _identities(self, request: Request) -> Iterator[Candidate]:
        """List the name on the cluster of the address that is given before it."""
        for each in self._names.declared:
            if each.address in request.earlier:
                yield Candidate(each.identity)

    def _workspaces(self) -> Iterator[Candidate]:
        return _plain(("default", *self._project.file_store.list_workspaces()))


def _begins(value: str, typed: str) -> bool:
    return value.startswith(typed) or value.lower().startswith(typed.lower())


def _plain(values: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(each) for each in values)


def _addresses(objects: Iterable["NamedObject"]) -> Iterator[Candidate]:
    return (Candidate(each.address, each.identity) for each in objects)


def _codes() -> Iterator[Candidate]:
    return (Candidate(each.code, each.title) for each in code_pages().values())


def _acceptable_codes() -> Iterator[Candidate]:
    from kplan.policy.access_guard import ACCEPTABLE_CODES  # noqa: PLC0415 - as in Values

    return (each for each in _codes() if each.value in ACCEPTABLE_CODES)


def _kafka_errors() -> Iterator[Candidate]:
    from kplan.cluster.errors import ERRORS  # noqa: PLC0415 - as in Values

    return _plain(ERRORS)


def _operations() -> Iterator[Candidate]:
    from kplan.kinds.acl import OPERATIONS  # noqa: PLC0415 - as in Values

    return _plain(OPERATIONS.values())


def _stale_values() -> Iterator[Candidate]:
    from kplan.cli.apply.execution import ON_STALE_VALUES  # noqa: PLC0415 - as in Values

    return _plain(ON_STALE_VALUES)


def _plan_parts() -> Iterator[Candidate]:
    from kplan.report.subject import PlanPart  # noqa: PLC0415 - as in Values

    return _plain(PlanPart)


def _formats(ending: str) -> Iterator[Candidate]:
    from kplan.report.format import Format  # noqa: PLC0415 - as in Values

    return (Candidate(f"{each}{ending}") for each in Format)


def _shells() -> Iterator[Candidate]:
    from kplan.cli.shell.scripts import SCRIPTS  # noqa: PLC0415 - as in Values

    return _plain(SCRIPTS)


def _help_topics() -> Iterator[Candidate]:
    from kplan.cli.manual.topics import help_topics  # noqa: PLC0415 - as in Values

    yield from (Candidate(name, text) for name, text in help_topics().items())
    yield from (Candidate(name, text) for name, text in GROUPS.items())
    yield from (Candidate(name, text) for name, (_, text) in VERBS.items() if " " not in name)


def _reports(request: Request) -> Iterator[Candidate]:
    format_, equals, file = request.typed.partition("=")
    if not equals:
        return _formats("=")
    return (Candidate(f"{format_}={each.value}") for each in _entries(file))


def _files(request: Request) -> Iterator[Candidate]:
    return _entries(request.typed)


def _folders(request: Request) -> Iterator[Candidate]:
    return (each for each in _entries(request.typed) if each.value.endswith("/"))


def _entries(typed: str) -> Iterator[Candidate]:
    """List the files and folders whose path begins as typed; hidden ones if a dot is typed."""
    folder, slash, start = typed.rpartition("/")
    for each in Path(f"{folder}{slash}" or ".").iterdir():
        if each.name.startswith(start) and (start or not each.name.startswith(".")):
            yield Candidate(f"{folder}{slash}{each.name}{'/' if each.is_dir() else ''}")
