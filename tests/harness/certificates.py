"""Throw-away certificate authorities and what they sign, by openssl."""

from __future__ import annotations

import os
import pathlib
import ssl
import subprocess
import time
from dataclasses import dataclass

# The key identifiers and the CA's key usage are what Python from 3.13 on insists on.
_LEAF = "basicConstraints=CA:FALSE\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


# What `openssl ca` wants: it alone can set an end to the second.
_SIGNING = """[ca]
default_ca = svid
[svid]
database = svid.index
rand_serial = yes
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


@dataclass(frozen=True)
class Pair:
    certificate: pathlib.Path
    key: pathlib.Path


# What a private key is made of, for openssl.
KEYS = {"rsa": ("rsa:2048",), "ec": _CURVE[1:4], "ed25519": ("ed25519",), "weak": ("rsa:1024",)}


def self_signed(directory: os.PathLike[str] | str, name: str, key: str = "ec", alternatives: str = "") -> Pair:
    """A certificate of its own for this name, with a key of one of KEYS."""
    more = ("-addext", f"subjectAltName={alternatives}") if alternatives else ()
    _openssl(directory, "req", "-x509", "-newkey", *KEYS[key], "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt",
             "-days", "30", "-subj", f"/CN={name}", *more)
    return Pair(pathlib.Path(directory) / f"{name}.crt", pathlib.Path(directory) / f"{name}.key")


def der(*certificates: pathlib.Path) -> bytes:
    """One after the other."""
    return b"".join(ssl.PEM_cert_to_DER_cert(path.read_text()) for path in certificates)


def key_der(key: pathlib.Path) -> bytes:
    """PKCS#8."""
    done = subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", key, "-outform", "DER"], capture_output=True, check=True)
    return done.stdout


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

    def subordinate(self, name: str) -> "Authority":
        """Another one below this one, in the same folder."""
        self._openssl("req", *_CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.directory / f"{name}.ext").write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"
                                                    "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key",
                      "-CAcreateserial", "-out", f"{name}.crt", "-days", "2", "-extfile", f"{name}.ext")
        made = object.__new__(Authority)
        made.directory, made.name, made.certificate = self.directory, name, self.directory / f"{name}.crt"
        return made

    def server(self, name: str = "server", alternatives: str = "IP:127.0.0.1,DNS:localhost", days: int = 2) -> Pair:
        return self._signed(name, f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth\n", days)

    def peer(self, name: str) -> Pair:
        """Of a server that is its own client, too, as etcd's gateway is."""
        return self._signed(name, "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n", 2)

    def client(self, name: str, days: int = 2, subject: str = "") -> Pair:
        """Its name is the user's; subject: instead of its common name, as "/O=sync"."""
        return self._signed(name, "extendedKeyUsage=clientAuth\n", days, subject)

    def svid(self, name: str, spiffe_id: str, seconds: int = 3600, extensions: str = "") -> Pair:
        """An X.509 SVID as SPIRE makes them, for a client and a server; its common name is `name`. It ends so many seconds
        from now, or ago."""
        self._openssl("req", *_CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.directory / f"{name}.ext").write_text(extensions or (
            _LEAF + f"subjectAltName=URI:{spiffe_id}\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n"))
        (self.directory / "svid.cnf").write_text(_SIGNING)
        (self.directory / "svid.index").write_text("")
        begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + s)) for s in (min(seconds, 0) - 3600, seconds))
        self._openssl("ca", "-config", "svid.cnf", "-batch", "-notext", "-in", f"{name}.csr", "-out", f"{name}.crt",
                      "-cert", f"{self.name}.crt", "-keyfile", f"{self.name}.key", "-startdate", begin, "-enddate", end,
                      "-extfile", f"{name}.ext")
        return Pair(self.directory / f"{name}.crt", self.directory / f"{name}.key")

    def _signed(self, name: str, extensions: str, days: int, subject: str = "") -> Pair:
        self._openssl("req", *_CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject or f"/CN={name}")
        (self.directory / f"{name}.ext").write_text(_LEAF + extensions)
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key",
                      "-CAcreateserial", "-out", f"{name}.crt", "-days", str(days), "-extfile", f"{name}.ext")
        return Pair(self.directory / f"{name}.crt", self.directory / f"{name}.key")

    def _openssl(self, *arguments: str) -> None:
        _openssl(self.directory, *arguments)
