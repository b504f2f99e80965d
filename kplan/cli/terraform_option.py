"""Options of Terraform and OpenTofu that kplan does not have: why, and what to use instead."""

from collections.abc import Mapping

Answer = tuple[str, str]
"""The rest of the sentence behind `kplan VERB has no option -NAME: `, and the hint."""

_STATES = (
    "every earlier state is kept anyway",
    "Run kplan state history, and kplan state restore to go back.",
)
_CHANGES = frozenset({"plan", "apply", "destroy"})

_ANSWERS: Mapping[str, tuple[frozenset[str], Answer]] = {
    "--refresh-only": (
        _CHANGES,
        ("every plan reads the cluster", "Run kplan drift to see changes made outside kplan."),
    ),
    "--generate-config-out": (
        _CHANGES,
        (
            "an import block needs the resource block that it names",
            "Run kplan import -all -generate-config=FILE to write blocks of what exists.",
        ),
    ),
    "--exclude": (
        _CHANGES,
        ("a plan is narrowed by what it is about", "Name the resources with -target=ADDRESS."),
    ),
    "--backup": (_CHANGES | {"import", "state mv", "state rm"}, _STATES),
    "--backup-out": (_CHANGES | {"state mv"}, _STATES),
    "--state-out": (
        _CHANGES | {"import", "state mv"},
        ("a state is written where it is read", "Name its file with -state=FILE."),
    ),
    "--backend-config": (
        frozenset({"init"}),
        (
            "the state block holds all settings, and may use variables",
            "Write them in the state block, and credentials in the environment: kplan help states.",
        ),
    ),
    "--migrate-state": (
        frozenset({"init"}),
        ("a state is moved by a command of its own", "Run kplan state migrate -help."),
    ),
    "--no-tests": (
        frozenset({"validate"}),
        ("validate reads no test files", "Run kplan validate; kplan test runs the tests."),
    ),
    "--type": (
        frozenset({"graph"}),
        (
            "there is one graph, of the references in the configuration",
            "Run kplan graph; kplan plan shows the changes in their order.",
        ),
    ),
    "--plan": (
        frozenset({"graph", "console"}),
        (
            "it reads the configuration alone",
            "Run kplan plan -out=FILE and kplan show FILE to look into a plan.",
        ),
    ),
}


def option_answer(verb: str, option: str) -> Answer | None:
    """Return why a verb lacks an option of Terraform, and a hint; None for any other."""
    if option == "--chdir":
        return "it goes before the command", f"Run kplan -chdir=DIR {verb}."
    verbs, answer = _ANSWERS.get(option, (frozenset(), None))
    return answer if verb in verbs else None
