"""Signatures by SSH keys of people: `ssh-keygen -Y sign` (OpenSSH 8.2, PROTOCOL.sshsig)."""

import shlex
import shutil
import subprocess
from pathlib import Path

from kplan.model.errors import KplanError

NAMESPACE = "kplan"
"""What a signature is for; one that was made for another purpose does not count."""

_TIMEOUT_S = 30


def signature_file(path: Path) -> Path:
    """Return where `ssh-keygen -Y sign` writes the signature of a file."""
    return path.with_name(f"{path.name}.sig")


def sign_command(path: Path) -> str:
    """Return the command that signs a file."""
    return f"ssh-keygen -Y sign -n {NAMESPACE} -f KEY {shlex.quote(str(path))}"


def find_signer(data: bytes, path: Path, signers: Path) -> str:
    """Return who signed the contents of a file: a principal of the allowed signers file.

    Raises:
        KplanError: a file is missing, ssh-keygen is, or no allowed signer signed the contents.

    """
    signature = signature_file(path)
    if not signers.is_file():
        raise KplanError(
            f"The file of allowed signers {signers} does not exist.",
            "KPLAN_PLAN_SIGNERS names a file with lines such as: alice@example.com ssh-ed25519 ...",
        )
    if not signature.is_file():
        raise KplanError(
            f"{path} is not signed: {signature} does not exist.", f"Sign it: {sign_command(path)}"
        )
    common = "-s", str(signature), "-f", str(signers)
    found = _run_ssh_keygen("find-principals", *common)
    for name in found.stdout.decode(errors="replace").splitlines() if not found.returncode else ():
        verify = "verify", *common, "-n", NAMESPACE, "-I", name
        if not _run_ssh_keygen(*verify, data=data).returncode:
            return name
    raise KplanError(
        f"{signature} is not a signature of {path} by a signer in {signers}.",
        f"Sign the file as it is, with a key that is listed: {sign_command(path)}",
    )


def _run_ssh_keygen(*arguments: str, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    program = shutil.which("ssh-keygen")
    if program is None:
        raise KplanError(
            "Signatures of plans are checked with ssh-keygen, which is not installed.",
            "Install OpenSSH 8.2 or later.",
        )
    try:
        return subprocess.run(  # noqa: S603 - a fixed command; the files are arguments of options
            [program, "-Y", *arguments],
            input=data, capture_output=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise KplanError(f"ssh-keygen could not check the signature: {failure}.") from failure
