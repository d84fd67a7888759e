"""The map and the certificate of the user's documents: what is stored beside HAProxy, what it has of them, what it presents."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import re
import socket
import ssl

from .invariants import Files, map_entries

MAP, CERTIFICATE = "hosts.map", "site.pem"


def fingerprint(pem: str) -> str:
    """SHA-1 of the first certificate in it."""
    end = "-----END CERTIFICATE-----"
    return hashlib.sha1(ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERTIFICATE-----"):pem.index(end) + len(end)])).hexdigest()


@dataclasses.dataclass(frozen=True)
class Served:
    """folder: where they are stored for HAProxy. port: where it presents the certificate."""
    folder: pathlib.Path
    port: int

    @property
    def map(self) -> pathlib.Path:
        return self.folder / "maps" / MAP

    @property
    def certificate(self) -> pathlib.Path:
        return self.folder / "ssl" / CERTIFICATE

    @property
    def frontend(self) -> str:
        return (f"frontend files\n  mode http\n  bind 127.0.0.1:{self.port} ssl crt {self.certificate}\n"
                f"  http-response set-header x-is %[str(x.example),map({self.map},none)]\n")

    def stored(self) -> Files:
        """Raises OSError."""
        return Files(map_entries(self.map.read_text()), fingerprint(self.certificate.read_text()))

    def running(self, path: pathlib.Path) -> Files:
        """By HAProxy's socket. Raises OSError; what it has not loaded is empty."""
        shown = ask(path, f"show map {self.map}")
        certificate = ask(path, f"show ssl cert {self.certificate}")
        # While another connection changes a certificate HAProxy shows none.
        if "are currently locked" in certificate:
            raise OSError(certificate.strip())
        found = re.search(r"^SHA1 FingerPrint: (\w+)$", certificate, re.M)
        return Files(map_entries("".join(line.partition(" ")[2] + "\n" for line in shown.splitlines())),
                     found[1].lower() if found else "")

    def presented(self) -> str:
        """Raises OSError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self.port), 2) as plain, context.wrap_socket(plain) as sock:
            return hashlib.sha1(sock.getpeercert(binary_form=True) or b"").hexdigest()


def ask(path: pathlib.Path, command: str, timeout: float = 1.0) -> str:
    answer = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(timeout)
        s.connect(str(path))
        s.sendall(command.encode() + b"\n")
        while chunk := s.recv(65536):
            answer += chunk
    # A worker that ends in the middle cuts its answer; a whole one ends with an empty line.
    if not answer.endswith(b"\n\n") and answer != b"\n":
        raise OSError(f"cut after {len(answer)} bytes")
    return answer.decode()
