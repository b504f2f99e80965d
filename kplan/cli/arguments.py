"""The command line as Terraform users type it, rewritten as typer reads it."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

_TRUE = frozenset({"1", "t", "true"})
_FALSE = frozenset({"0", "f", "false"})


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a verb. `opposite` is the option that turns a switch off, "" without one."""

    takes_value: bool
    opposite: str = ""


OptionSpecs = Mapping[str, OptionSpec]
"""Every long option of a verb by its name, dashes included: `--lock`."""


def rewrite_arguments(args: Sequence[str], flags: OptionSpecs) -> list[str]:
    """Write every long option with two dashes and its value behind a `=`.

    `-out FILE` becomes `--out=FILE`, `-lock=false` becomes `--no-lock`, `-json=false` nothing. No
    element of the result is a value on its own, so `--json in rewritten(...)` can be trusted.
    What is not an option of the verb stays, for typer to refuse. Nothing after `--` is touched.

    Raises:
        UsageError: a switch has another value than true or false.

    """
    return list(_rewrite(iter(args), flags))


def split_at_verb(
    args: Sequence[str], flags: OptionSpecs, groups: frozenset[str]
) -> tuple[list[str], tuple[str, ...], list[str]]:
    """Split a command line at its verb: global options, verb (two words in a group), the rest.

    `flags` are the global options; `groups` names the verbs that have verbs of their own.
    """
    before, rest = _split_at_word(list(args), flags)
    if not rest or rest[0] == "--":
        return before, (), rest
    if rest[0] not in groups:
        return before, (rest[0],), rest[1:]
    between, after = _split_at_word(rest[1:], {})
    if not after or after[0] == "--":
        return before, (rest[0],), rest[1:]
    return before, (rest[0], after[0]), [*between, *after[1:]]


def environment_arguments(environ: Mapping[str, str], path: Sequence[str]) -> list[str]:
    """Return the arguments that `KPLAN_CLI_ARGS` and `KPLAN_CLI_ARGS_<verb>` add.

    Raises:
        UsageError: a quotation in one of them does not end.

    """
    names = ("KPLAN_CLI_ARGS", "_".join(("KPLAN_CLI_ARGS", *path)).replace("-", "_"))
    return [word for name in names for word in _split_words(name, environ.get(name, ""))]


def _split_words(name: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise UsageError(
            f"{name} has an unclosed quotation mark.", hint=f"Correct {name} or unset it."
        ) from None


def _split_at_word(args: list[str], flags: OptionSpecs) -> tuple[list[str], list[str]]:
    """Split before the first word that is neither an option nor an option's value."""
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        flag = flags.get(_option_name(args[at]))
        at += 2 if flag and flag.takes_value and "=" not in args[at] else 1
    return args[:at], args[at:]


def _rewrite(args: Iterator[str], flags: OptionSpecs) -> Iterator[str]:
    for arg in args:
        if arg == "--":
            yield arg
            yield from args
            return
        name = _option_name(arg)
        flag = flags.get(name)
        if flag is None:
            yield f"-{arg}" if name and not arg.startswith("--") else arg
        elif flag.takes_value:
            yield _join_value(name, arg, args)
        else:
            yield from _rewrite_switch(name, arg, flag)


def _option_name(arg: str) -> str:
    """Return `--name` for `-name`, `--name` and both with a value; "" for anything else."""
    name = arg.partition("=")[0].lstrip("-")
    dashes = len(arg.partition("=")[0]) - len(name)
    is_long = dashes == 2 or (dashes == 1 and len(name) > 1)  # noqa: PLR2004 - one dash or two
    return f"--{name}" if is_long and name[:1].isalpha() else ""


def _join_value(name: str, arg: str, following: Iterator[str]) -> str:
    _, equals, value = arg.partition("=")
    if equals:
        return f"{name}={value}"
    taken = next(following, None)
    return name if taken is None else f"{name}={taken}"


def _rewrite_switch(name: str, arg: str, flag: OptionSpec) -> Iterator[str]:
    _, equals, value = arg.partition("=")
    if not equals or value.lower() in _TRUE:
        yield name
    elif value.lower() not in _FALSE:
        raise UsageError(f"{name[1:]} must be true or false, not {value!r}.")
    elif flag.opposite:
        yield flag.opposite
