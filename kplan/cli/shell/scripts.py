"""The scripts that shells load to complete a line of kplan, and where they are installed."""

import os
from collections.abc import Mapping
from pathlib import Path

from kplan.model.errors import UsageError

_BASH = r"""
_kplan_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(_KPLAN_COMPLETE=bash "$1" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if [ "${#COMPREPLY[@]}" -eq 1 ]; then
        case ${COMPREPLY[0]} in
            *= | */ | *:) compopt -o nospace 2>/dev/null ;;
        esac
    fi
}
complete -o default -F _kplan_completion kplan
"""
_ZSH = r"""
#compdef kplan
_kplan() {
    local value text
    local -a values shown partial partial_shown
    while IFS=$'\t' read -r value text; do
        case $value in
            *= | */ | *:) partial+=("$value"); partial_shown+=("$value${text:+  -- $text}") ;;
            *) values+=("$value"); shown+=("$value${text:+  -- $text}") ;;
        esac
    done < <(_KPLAN_COMPLETE=zsh "${(Q)words[1]}" \
        "${(j: :)words[1,CURRENT-1]} $IPREFIX$QIPREFIX$PREFIX" 2>/dev/null)
    if (( ! $#values && ! $#partial )); then
        _default
        return
    fi
    (( $#values )) && compadd -l -d shown -a values
    (( $#partial )) && compadd -S '' -l -d partial_shown -a partial
}
if [ "${funcstack[1]}" = _kplan ]; then
    _kplan "$@"
else
    compdef _kplan kplan
fi
"""
_FISH = r"""
function __kplan_complete
    set -l program (commandline -opc)[1]
    env _KPLAN_COMPLETE=fish $program (commandline -cp) 2>/dev/null
end
complete -c kplan -f -a '(__kplan_complete)'
"""
_POWERSHELL = r"""
Register-ArgumentCompleter -Native -CommandName kplan -ScriptBlock {
    param($word, $line, $cursor)
    $Env:_KPLAN_COMPLETE = "powershell"
    $text = $line.ToString()
    if ($text.Length -lt $cursor) { $text = $text.PadRight($cursor) }
    & kplan $text.Substring(0, $cursor) | ForEach-Object {
        $value, $help = $_ -split "`t", 2
        if (-not $help) { $help = $value }
        $kind = "ParameterValue"
        [System.Management.Automation.CompletionResult]::new($value, $value, $kind, $help)
    }
    Remove-Item Env:_KPLAN_COMPLETE
}
"""
SCRIPTS: Mapping[str, str] = {
    "bash": _BASH.lstrip(),
    "zsh": _ZSH.lstrip(),
    "fish": _FISH.lstrip(),
    "powershell": _POWERSHELL.lstrip(),
}
"""The script of each shell by its name."""

_FILES: Mapping[str, str] = {
    "bash": ".bash_completions/kplan.sh",
    "zsh": ".zfunc/_kplan",
    "fish": ".config/fish/completions/kplan.fish",
}
_STARTUP: Mapping[str, tuple[str, str]] = {
    "bash": (".bashrc", "source ~/.bash_completions/kplan.sh"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}
"""The file that a shell reads when it starts, and the line that loads the script."""


def find_script(asked: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of a shell, that of the environment if none is asked for, and its script.

    Raises:
        UsageError: there is no script for the shell.

    """
    shell = asked or Path(environ.get("SHELL", "")).name
    if shell not in SCRIPTS:
        what = f"the shell {shell!r}" if shell else "this shell, as SHELL is empty"
        raise UsageError(
            f"There is no completion for {what}.",
            f"Name one of {', '.join(SCRIPTS)}: kplan completion bash.",
        )
    return shell, SCRIPTS[shell]


def install_script(asked: str, environ: Mapping[str, str]) -> Path:
    """Write the script to the home folder, where the shell loads it, and return the file.

    Raises:
        UsageError: the place for this shell is not known.
        OSError: a file cannot be written.

    """
    shell, script = find_script(asked, environ)
    if shell not in _FILES:
        raise UsageError(
            f"The startup file of {shell} is not known.",
            f"Add the output of kplan completion {shell} to it.",
        )
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - HOME of the caller
    file = home / _FILES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script, encoding="utf-8")
    if shell in _STARTUP:
        _add_startup_line(home / _STARTUP[shell][0], _STARTUP[shell][1])
    return file


def _add_startup_line(file: Path, line: str) -> None:
    present = file.read_text(encoding="utf-8") if file.exists() else ""
    if line not in present.splitlines():
        gap = "" if not present or present.endswith("\n") else "\n"
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"{gap}{line}\n")
