"""A whole configuration over mutual TLS, by a Secret that is mounted: ca.crt, tls.crt and tls.key, swapped together by ..data."""

from __future__ import annotations

import itertools
import pathlib
import shutil

import pytest

from tests.harness.certificates import Authority, Pair
from tests.harness.process import wait_until

from .sites import Sites
from .test_configuration import applied

pytestmark = pytest.mark.needs_api("TLS towards the API")

NAMES = ("ca.crt", "tls.crt", "tls.key")
BALANCES = ("static-rr", "first", "roundrobin")


class Mounted:
    """As a kubelet has it: NAME -> ..data/NAME, and ..data -> a folder of its own for each version."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.versions = folder, itertools.count(1)
        folder.mkdir()
        for name in NAMES:
            (folder / name).symlink_to(f"..data/{name}")

    def swap(self, ca: pathlib.Path, client: Pair) -> None:
        version = self.folder / f"..version_{next(self.versions)}"
        version.mkdir()
        for source, name in zip((ca, client.certificate, client.key), NAMES):
            shutil.copy(source, version / name)
        data = self.folder / "..data"
        before = data.resolve() if data.is_symlink() else None
        beside = self.folder / "..data_tmp"
        beside.symlink_to(version.name)
        beside.replace(data)
        if before is not None:
            shutil.rmtree(before)


def bundle(path: pathlib.Path, *authorities: Authority) -> pathlib.Path:
    path.write_text("".join(a.certificate.read_text() for a in authorities))
    return path


def test_client_certificates_rotate_without_a_failed_change(sites: Sites, tmp_path: pathlib.Path) -> None:
    """To another authority: at the end the API knows the new one alone."""
    ca, old, new = (Authority(tmp_path / name, name) for name in ("servers", "old", "new"))
    server, plane = ca.server(), sites.list[0][1]
    secret = Mounted(tmp_path / "secret")
    secret.swap(ca.certificate, old.client("daemon"))
    plane.stop()
    plane.serve_tls(server, bundle(tmp_path / "both.pem", old, new), new.client("harness"))
    plane.start()
    balances = itertools.cycle(BALANCES)
    sites.source.write_text(sites.text(balance=next(balances)))
    daemon = sites.start(HAPROXY_DATAPLANE_CA_FILE=str(secret.folder / "ca.crt"), HAPROXY_DATAPLANE_CERT_FILE=str(secret.folder / "tls.crt"),
                         HAPROXY_DATAPLANE_KEY_FILE=str(secret.folder / "tls.key"), CONFIG_MIN_INTERVAL="0s", RESYNC_PERIOD="1s")
    applied(daemon)

    def change() -> None:
        seen, balance = len(daemon.log()), next(balances)
        beside = sites.source.with_name("next")
        beside.write_text(sites.text(balance=balance))
        beside.replace(sites.source)  # it is never read half written
        applied(daemon, seen)
        assert sites.runs(0, balance)()

    def issuer_is_known(days: int) -> bool:
        metrics = daemon.metrics()
        left = metrics.sum("tls_certificate_expiration_timestamp_seconds", certificate="client", peer=plane.url)
        server_left = metrics.sum("tls_certificate_expiration_timestamp_seconds", certificate="server", peer=plane.url)
        return (left < server_left - 3600) == (days == 1)

    for days in (1, 2, 1):
        change()
        secret.swap(ca.certificate, (old if days == 2 else new).client(f"daemon-{days}", days=days))
        change()  # perhaps before it was read again
        wait_until(lambda days=days: issuer_is_known(days), 20, f"the certificate of {days} days")  # type: ignore[misc]
        change()
    assert daemon.metrics().sum("configuration_results_total", result="failed") == 0
    assert "level=error" not in daemon.log() and "level=warn" not in daemon.log(), daemon.tail()

    # Each request would have gone through with the old one: not so from here on.
    plane.stop()
    plane.serve_tls(server, new.certificate, new.client("harness"))
    plane.start()
    change()

    # Files that do not belong together stop nothing: the connection goes on with those from before.
    wrong = old.client("wrong")
    secret.swap(ca.certificate, Pair(wrong.certificate, new.client("other").key))
    change()
