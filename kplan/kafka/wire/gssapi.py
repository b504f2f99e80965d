"""SASL/GSSAPI (RFC 4752) with Kerberos, by the system's libgssapi; loaded by a login only."""

import ctypes
import ctypes.util
from collections.abc import Mapping
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from hashlib import sha256

from kplan.kafka.settings.connection import Kerberos
from kplan.model.errors import AuthError, KplanError

# A leaf module. The numbers are those of gssapi.h (RFC 2744).

_LIBRARIES = ("libgssapi_krb5.so.2", "libgssapi_krb5.dylib")
_CONTINUE = 1
_ERRORS = 0xFFFF0000
_INITIATE, _INDEFINITE = 1, 0xFFFFFFFF
_MUTUAL, _SEQUENCE = 2, 8
_BY_MECHANISM, _BY_GSSAPI = 2, 1
_NO_LAYER = 1


class _Buffer(Structure):
    _fields_ = (("length", c_size_t), ("value", c_void_p))  # type: ignore[mutable-override]


class _Pair(Structure):
    _fields_ = (("key", c_char_p), ("value", c_char_p))  # type: ignore[mutable-override]


class _Store(Structure):
    _fields_ = (("count", c_uint32), ("elements", POINTER(_Pair)))  # type: ignore[mutable-override]


class _Library:
    """The functions of libgssapi that a client takes."""

    def __init__(self) -> None:
        """Load it.

        Raises:
            KplanError: this system has none.

        """
        self._functions = _load_library()
        self.service_name = self._object("GSS_C_NT_HOSTBASED_SERVICE")
        self.principal_name = self._object("GSS_KRB5_NT_PRINCIPAL_NAME")
        self.kerberos = self._object("gss_mech_krb5")

    def _object(self, name: str) -> c_void_p:
        return c_void_p.in_dll(self._functions, name)

    def call(self, name: str, *arguments: object) -> int:
        """Call a function, and return its major status.

        Raises:
            AuthError: the status is an error.

        """
        minor = c_uint32()
        function = self._functions[name]
        function.restype = c_uint32
        status: int = function(byref(minor), *arguments)
        if status & _ERRORS:
            raise AuthError(
                f"The login by Kerberos failed: {self._status_text(status, minor.value)}.",
                hint="Get a ticket with kinit, or set sasl_kerberos_keytab. The service is named "
                "by sasl_kerberos_service_name and the broker's host.",
            )
        return status

    def _status_text(self, major: int, minor: int) -> str:
        texts = [self._message(major, _BY_GSSAPI)]
        if minor:
            texts.append(self._message(minor, _BY_MECHANISM))
        return ": ".join(each.strip().rstrip(".") for each in texts if each)

    def _message(self, status: int, sort: int) -> str:
        text, more, minor = _Buffer(), c_uint32(), c_uint32()
        function = self._functions["gss_display_status"]
        function.restype = c_uint32
        arguments = (c_uint32(status), c_int(sort), self.kerberos, byref(more), byref(text))
        if function(byref(minor), *arguments) & _ERRORS:
            return ""
        return self.take(text).decode("utf-8", "replace")

    def take(self, buffer: _Buffer) -> bytes:
        """Return the content of a buffer, and free it."""
        content = ctypes.string_at(buffer.value, buffer.length) if buffer.length else b""
        self.release("gss_release_buffer", buffer)
        return content

    def release(self, name: str, *arguments: Structure | c_void_p | None) -> None:
        """Free something; what it says is of no use."""
        minor = c_uint32()
        self._functions[name](
            byref(minor), *(None if each is None else byref(each) for each in arguments)
        )


def _load_library() -> ctypes.CDLL:
    named = ctypes.util.find_library("gssapi_krb5")
    for name in (*_LIBRARIES, *((named,) if named else ())):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise KplanError(
        "A login by Kerberos takes MIT's libgssapi_krb5, which this system does not have.",
        hint="Install the package libgssapi-krb5-2 (Debian) or krb5-libs (Fedora).",
    )


def _buffer(content: bytes) -> _Buffer:
    held = ctypes.create_string_buffer(content, len(content))
    buffer = _Buffer(len(content), ctypes.cast(held, c_void_p))
    buffer.content = held  # keeps the bytes alive as long as the buffer
    return buffer


def _credential_places(mechanism: Kerberos) -> Mapping[str, str]:
    """Name the keytab, and a cache in memory that no other identity of this process shares."""
    identity = sha256(f"{mechanism.client}\n{mechanism.keytab}".encode()).hexdigest()
    return {"client_keytab": mechanism.keytab, "ccache": f"MEMORY:kplan-{identity}"}


class GssapiExchange:
    """The client's side of one login; the interface is that of kafka-python's exchanges."""

    def __init__(self, mechanism: Kerberos, host: str) -> None:
        """Take the first step: ask the KDC for a ticket, unless the cache has one.

        Raises:
            AuthError: there is no ticket, or no such service.
            KplanError: this system has no libgssapi.

        """
        self._context, self._credential, self._target = c_void_p(), c_void_p(), c_void_p()
        self._library = _Library()
        self._is_established = False
        self._is_last = False
        self._is_done = False
        service = f"{mechanism.service_name}@{host}"
        self._target = self._name(service, self._library.service_name)
        self._acquire(mechanism)
        self._token = self._step(b"")

    def _name(self, text: str, sort: c_void_p) -> c_void_p:
        name = c_void_p()
        content = _buffer(text.encode())
        self._library.call("gss_import_name", byref(content), sort, byref(name))
        return name

    def _acquire(self, mechanism: Kerberos) -> None:
        """Take the key of a keytab; without one the default credential is that of the cache."""
        if not mechanism.keytab and not mechanism.client:
            return
        name = (
            self._name(mechanism.client, self._library.principal_name) if mechanism.client else None
        )
        places = _credential_places(mechanism) if mechanism.keytab else {}
        pairs = [_Pair(key.encode(), value.encode()) for key, value in places.items()]
        store = _Store(len(pairs), (_Pair * len(pairs))(*pairs))
        try:
            self._library.call(
                "gss_acquire_cred_from",
                name,
                c_uint32(_INDEFINITE),
                None,
                c_int(_INITIATE),
                byref(store) if pairs else None,
                byref(self._credential),
                None,
                None,
            )
        finally:
            if name is not None:
                self._library.release("gss_release_name", name)

    def _step(self, challenge: bytes) -> bytes:
        given, answer = _buffer(challenge), _Buffer()
        status = self._library.call(
            "gss_init_sec_context",
            self._credential,
            byref(self._context),
            self._target,
            self._library.kerberos,
            c_uint32(_MUTUAL | _SEQUENCE),
            c_uint32(0),
            None,
            byref(given),
            None,
            byref(answer),
            None,
            None,
        )
        self._is_established = not status & _CONTINUE
        return self._library.take(answer)

    def auth_bytes(self) -> bytes:
        """Return what is sent next."""
        return self._token

    def receive(self, challenge: bytes) -> None:
        """Take the server's answer: steps of the context, then the choice of layers.

        Raises:
            AuthError: the server did not prove who it is, or wants a layer that Kafka lacks.

        """
        if self._is_last:
            self._is_done = True
        elif not self._is_established:
            self._token = self._step(challenge)
        else:
            self._token = self._choose_layer(challenge)
            self._is_last = True

    def _choose_layer(self, challenge: bytes) -> bytes:
        sealed, opened = _buffer(challenge), _Buffer()
        self._library.call("gss_unwrap", self._context, byref(sealed), byref(opened), None, None)
        offer = self._library.take(opened)
        if not offer or not offer[0] & _NO_LAYER:
            raise AuthError("The broker asks for a security layer of GSSAPI, which Kafka lacks.")
        given, answer = _buffer(bytes((_NO_LAYER, 0, 0, 0))), _Buffer()
        self._library.call(
            "gss_wrap", self._context, c_int(0), c_uint32(0), byref(given), None, byref(answer)
        )
        return self._library.take(answer)

    def is_done(self) -> bool:
        """Whether the server has taken the last message."""
        return self._is_done

    def __del__(self) -> None:
        """Free what the library holds."""
        if self._context.value:
            self._library.release("gss_delete_sec_context", self._context, None)
        if self._credential.value:
            self._library.release("gss_release_cred", self._credential)
        if self._target.value:
            self._library.release("gss_release_name", self._target)
