"""The files beside the configuration: maps, general files, certificates with their keys, lists of certificates.

A folder for each kind but the last two, which share one. The name of a file that comes is changed: what is no letter, digit, `-` or
`_` before its last dot becomes `_`.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import pathlib
import re
import ssl
import tempfile
from typing import Any

from .errors import ApiError
from .transactions import write_atomically

FOLDERS = {"maps": "maps", "general": "general", "ssl_certificates": "ssl", "ssl_crt_lists": "ssl"}
DESCRIPTIONS = {"maps": "managed map file", "general": "managed general use file", "ssl_certificates": "managed SSL file",
                "ssl_crt_lists": "managed certificate list"}
PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END \1-----")
# The only keys that the API knows, by their identifiers in DER: RSA, elliptic curves.
KNOWN_KEYS = (bytes.fromhex("2a864886f70d010101"), bytes.fromhex("2a8648ce3d0201"))


class Storage:
    def __init__(self, directory: pathlib.Path):
        self.dir = directory
        for name in set(FOLDERS.values()):
            (directory / name).mkdir(parents=True, exist_ok=True)

    def folder(self, kind: str) -> pathlib.Path:
        return self.dir / FOLDERS[kind]

    def all(self, kind: str) -> list[pathlib.Path]:
        files = sorted(path for path in self.folder(kind).iterdir() if not path.name.startswith("."))
        if kind in ("ssl_certificates", "ssl_crt_lists"):
            return [path for path in files if (_problem(path.read_bytes()) is None) == (kind == "ssl_certificates")]
        return files

    def path(self, kind: str, name: str) -> pathlib.Path:
        path = self.folder(kind) / stored_name("", name)
        if not path.is_file():
            raise ApiError(404, f"missing object: file {path.name} doesn't exist in dir: {self.folder(kind)}")
        return path

    def create(self, kind: str, name: str, content: bytes) -> pathlib.Path:
        path = self.folder(kind) / stored_name(kind, name)
        if path.exists():
            raise ApiError(409, f"object already exists: file {path} already exists")
        return self._write(kind, path, content)

    def replace(self, kind: str, name: str, content: bytes) -> pathlib.Path:
        return self._write(kind, self.path(kind, name), content)

    @staticmethod
    def _write(kind: str, path: pathlib.Path, content: bytes) -> pathlib.Path:
        problem = _problem(content) if kind == "ssl_certificates" else None
        if problem:
            raise ApiError(500, problem)
        write_atomically(path, content)
        return path

    def json(self, kind: str, path: pathlib.Path, full: bool = False) -> dict[str, Any]:
        out: dict[str, Any] = {"description": DESCRIPTIONS[kind], "file": str(path), "storage_name": path.name}
        if full:
            out["size"] = path.stat().st_size
            if kind == "ssl_certificates":
                out |= certificate_json(path.read_bytes())
        return out


def stored_name(kind: str, name: str) -> str:
    stem, dot, ending = name.rpartition("/")[2].rpartition(".")
    out = re.sub(r"[^A-Za-z0-9_-]", "_", stem) + dot + ending
    return out if kind != "maps" or out.endswith(".map") else out + ".map"


def _blocks(content: bytes) -> list[tuple[str, bytes]]:
    out = []
    for match in PEM.finditer(content):
        try:
            out.append((match[1].decode(), base64.b64decode(match[2])))
        except binascii.Error:
            continue
    return out


def _problem(content: bytes) -> str | None:
    """Why the API does not take it for a certificate; an Ed25519 key is none to it."""
    blocks = _blocks(content)
    if not any(kind == "CERTIFICATE" for kind, _ in blocks):
        return "failed to parse certificate"
    if not any(kind in ("RSA PRIVATE KEY", "EC PRIVATE KEY")
               or kind == "PRIVATE KEY" and any(key in der for key in KNOWN_KEYS) for kind, der in blocks):
        return "file should contain both certificate and private key"
    return None


def certificate_json(content: bytes) -> dict[str, Any]:
    """Of the first certificate; never a byte of the key."""
    der = next(der for kind, der in _blocks(content) if kind == "CERTIFICATE")
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as f:
        f.write(ssl.DER_cert_to_PEM_cert(der))
        f.flush()
        found = ssl._ssl._test_decode_cert(f.name)  # type: ignore[attr-defined]
    alternatives = found.get("subjectAltName", ())
    addresses = ", ".join(value for kind, value in alternatives if kind == "IP Address")
    names = ", ".join(value for kind, value in alternatives if kind == "DNS")
    return {"subject": _common_name(found["subject"]), "issuers": _common_name(found["issuer"]),
            "serial": str(int(found["serialNumber"], 16)), "not_before": _time(found["notBefore"]),
            "not_after": _time(found["notAfter"]),
            **({"domains": names} if names else {}), **({"ip_addresses": addresses} if addresses else {})}


def _common_name(name: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    return next((value for part in name for key, value in part if key == "commonName"), "")


def _time(text: str) -> str:
    moment = datetime.datetime.fromtimestamp(ssl.cert_time_to_seconds(text), datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
