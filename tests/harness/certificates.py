"""Throw-away certificate authorities and what they sign, by openssl."""

from __future__ import annotations

import os
import pathlib
import subprocess
from dataclasses import dataclass

# The key identifiers and the CA's key usage are what Python from 3.13 on insists on.
_LEAF = "basicConstraints=CA:FALSE\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True)
class Pair:
    certificate: pathlib.Path
    key: pathlib.Path


# What a private key is made of, for openssl.
KEYS = {"rsa": ("rsa:2048",), "ec": _CURVE[1:4], "ed25519": ("ed25519",)}


def self_signed(directory: os.PathLike[str] | str, name: str, key: str = "ec", alternatives: str = "") -> Pair:
    """A certificate of its own for this name, with a key of one of KEYS."""
    more = ("-addext", f"subjectAltName={alternatives}") if alternatives else ()
    _openssl(directory, "req", "-x509", "-newkey", *KEYS[key], "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt",
             "-days", "30", "-subj", f"/CN={name}", *more)
    return Pair(pathlib.Path(directory) / f"{name}.crt", pathlib.Path(directory) / f"{name}.key")


def _openssl(directory: os.PathLike[str] | str, *arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")


class Authority:
    def __init__(self, directory: os.PathLike[str] | str, name: str = "ca"):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.certificate = self.directory / f"{name}.crt"
        self._openssl("req", "-x509", *_CURVE, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}",
                      "-days", "2", "-addext", "basicConstraints=critical,CA:TRUE",
                      "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def server(self, name: str = "server", alternatives: str = "IP:127.0.0.1,DNS:localhost", days: int = 2) -> Pair:
        return self._signed(name, f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth\n", days)

    def client(self, name: str, days: int = 2) -> Pair:
        """Its name is the user's."""
        return self._signed(name, "extendedKeyUsage=clientAuth\n", days)

    def _signed(self, name: str, extensions: str, days: int) -> Pair:
        self._openssl("req", *_CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.directory / f"{name}.ext").write_text(_LEAF + extensions)
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key",
                      "-CAcreateserial", "-out", f"{name}.crt", "-days", str(days), "-extfile", f"{name}.ext")
        return Pair(self.directory / f"{name}.crt", self.directory / f"{name}.key")

    def _openssl(self, *arguments: str) -> None:
        _openssl(self.directory, *arguments)
