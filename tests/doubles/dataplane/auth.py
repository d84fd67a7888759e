"""Basic authentication by a userlist of haproxy.cfg: clear text, $5$ and $6$."""

from __future__ import annotations

import base64
import binascii
import ctypes
import ctypes.util
import functools
import hmac
import threading

from .cfgfile import Config
from .errors import ApiError


def users(config: Config, userlist: str = "dataplaneapi") -> dict[str, str]:
    """Name -> password as written; clear ones are marked by a leading NUL, which no crypted one has."""
    lists = config.kind("userlist")
    chosen = next((s for s in lists if s.name == userlist), lists[0] if lists else None)
    out: dict[str, str] = {}
    for line in chosen.lines if chosen else []:
        words = line.words
        if words[0] == "user" and len(words) >= 4:
            out[words[1]] = ("\0" if words[2] == "insecure-password" else "") + words[3].strip("\"'")
    return out


def check(header: str | None, known: dict[str, str], play: str) -> None:
    """Raises the 401 of the played version."""
    absent = "unauthenticated for invalid credentials" if play == "3.0" else "missing or invalid authorization"
    kind, _, value = (header or "").partition(" ")
    try:
        name, colon, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise ApiError(401, absent) from None
    if kind.lower() != "basic" or not colon:
        raise ApiError(401, absent)
    if name not in known:
        raise ApiError(401, "no configured users" if play == "3.0" else "unauthorized")
    if not _matches(password, known[name]):
        raise ApiError(401, f"invalid password: {password}" if play == "3.0" else "unauthorized")


def _matches(password: str, stored: str) -> bool:
    if stored.startswith("\0"):
        return hmac.compare_digest(password.encode(), stored[1:].encode())
    return hmac.compare_digest(_crypt(password, stored).encode(), stored.encode())


_crypting = threading.Lock()


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(ctypes.util.find_library("crypt") or "libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    return library


def _crypt(password: str, salt: str) -> str:
    """crypt(3); the module of that name is gone from newer Pythons. Its result is a buffer that the next call writes over."""
    with _crypting:
        result = _library().crypt(password.encode(), salt.encode())
        return result.decode() if result else ""
