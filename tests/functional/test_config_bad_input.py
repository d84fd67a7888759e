"""What a file may become that a whole haproxy.cfg is read from: refused with file and line, or handled; the last good one stays."""

from __future__ import annotations

import os
import pathlib
import re
import time
from collections.abc import Iterator

import pytest

from tests.harness import certificates
from tests.harness.daemon import Daemon, quick_program
from tests.harness.process import ROOT

from .rig import Rig
from .test_config_secret import Site

REFUSED = "msg=\"configuration refused; the last good one stays\".*"


class FileSite(Site):
    def __init__(self, rig: Rig, source: pathlib.Path):
        super().__init__(rig)
        self.source = source

    def start(self, binary: pathlib.Path | None = None, **settings: str) -> Daemon:
        """With a first configuration, which runs."""
        self.source.write_text(self.text())
        daemon = super().start(binary, **{"CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "CONFIG_SECRET_NAMESPACE": "", "CONFIG_SECRET_NAME": "",
                                  **settings})
        self.applied("roundrobin")
        daemon.wait_ready()
        return daemon


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[FileSite]:
    (tmp_path / "source").mkdir()
    with Rig(tmp_path) as rig:
        yield FileSite(rig, tmp_path / "source" / "haproxy.cfg")


BAD = [
    (b"", "haproxy.cfg: it is empty"),
    (b"global\n  maxconn 5\n# \xff\n", "haproxy.cfg: line 3: not UTF-8 .byte 0xff in column 3"),
    (b"global\n\0\n", "haproxy.cfg: line 2: a NUL character"),
    (b"global\r  maxconn 5\r", "haproxy.cfg: line 1: a carriage return within the line"),
    (b"global\n" + b"#\n" * (8 << 20), "haproxy.cfg: more than 16777216 bytes"),
]


def test_what_cannot_be_used_changes_nothing(site: FileSite) -> None:
    daemon = site.start(CONFIG_MIN_INTERVAL="0s")
    before = site.rig.dataplane.file()
    for bad, says in BAD:
        site.source.write_bytes(bad)
        daemon.wait_log(REFUSED + says)
        daemon.wait_not_ready("configuration source.*" + says)
        assert site.rig.dataplane.file() == before
    for word, change in (("CRLF", lambda text: text.replace("\n", "\r\n")), ("unended", str.rstrip)):
        site.source.write_bytes(change(site.text(word)).encode())
        site.applied(word)
        daemon.wait_ready()


BAD_FILES: list[tuple[dict[str, bytes | None], str]] = [
    ({"certs/a.pem": None}, "certs/a.pem: .*private key"),
    ({"maps/a.map": b"a 1\n" + b"x" * (1 << 20)}, "maps/a.map: line 2 has 1048576 bytes, and HAProxy reads lines of at most"),
    ({"files/a.b.http": b"1", "files/a_b.http": b"2"}, "files/a.b.http: it is stored as a_b.http, as is files/a_b.http|"
                                                       "files/a_b.http: it is stored as a_b.http, as is files/a.b.http"),
    ({"maps/.a.map": b"a 1\n", "maps/a b.map": b"a 1\n"}, "maps/a b.map: the name of a file has letters"),
]


def test_files_that_cannot_be_used_change_nothing(site: FileSite) -> None:
    folder = site.source.parent / "files"
    for kind in ("maps", "certs", "files"):
        (folder / kind).mkdir(parents=True)
    daemon = site.start(CONFIG_FILES_DIR=str(folder), CONFIG_MIN_INTERVAL="0s")
    before = site.rig.dataplane.file()
    certificates.self_signed(site.source.parent, "own")
    for files, says in BAD_FILES:
        for name, content in files.items():
            (folder / name).write_bytes((site.source.parent / "own.crt").read_bytes() if content is None else content)
        daemon.wait_log(REFUSED + f".*({says})")
        daemon.wait_not_ready("configuration source")
        assert site.rig.dataplane.file() == before
        for name in files:
            (folder / name).unlink()
        daemon.wait_ready()
    site.source.write_text(site.text("first"))
    site.applied("first")
    daemon.wait_ready()


def test_a_file_that_vanishes_and_a_folder_in_its_place(site: FileSite) -> None:
    daemon = site.start()
    before = site.rig.dataplane.file()
    site.source.unlink()
    daemon.wait_log(REFUSED + "cannot open /.*/haproxy.cfg: No such file")
    daemon.wait_not_ready("configuration source.*cannot open")
    site.source.mkdir()
    daemon.wait_log(REFUSED + "haproxy.cfg is no regular file")
    daemon.wait_not_ready("is no regular file")
    assert site.rig.dataplane.file() == before
    site.source.rmdir()
    site.source.write_text(site.text("first"))
    site.applied("first")
    daemon.wait_ready()


def test_200_changes_in_a_second(site: FileSite) -> None:
    """The latest wins, and hardly any of the others is even sent."""
    daemon = site.start()
    commits, began = site.rig.commits(), time.monotonic()
    for i in range(200):
        site.source.with_name("next").write_text(site.text(f"change-{i}"))
        os.replace(site.source.with_name("next"), site.source)
        time.sleep(max(0.0, began + (i + 1) / 200 - time.monotonic()))
    site.applied("change-199")
    daemon.wait_ready()
    took = time.monotonic() - began
    writes = sum("skip_reload" in line for line in site.rig.dataplane.access_log().splitlines())
    assert site.rig.commits() - commits <= 2 + took and writes <= 3 + took / 2, (writes, took)  # CONFIG_MIN_INTERVAL is 2s
    file = site.rig.dataplane.file()
    assert "by-change-199" in file and file.count("\nbackend by-") == 1


def test_a_large_one_needs_less_memory_than_it_is_given(site: FileSite) -> None:
    """15 MB of haproxy.cfg and a map of 10 MB: the service manager and Kubernetes would end the daemon, again and again."""
    given = [(ROOT / "deploy/systemd/haproxy-k8s-sync.service").read_text(), (ROOT / "deploy/config/deployment.yaml").read_text()]
    limits = [int(n) for text in given for n in re.findall(r"^MemoryMax=(\d+)M$|limits:\n +memory: (\d+)Mi$", text, re.M)[0] if n]
    folder = site.source.parent / "files"
    (folder / "maps").mkdir(parents=True)
    (folder / "maps/large.map").write_bytes(b"".join(b"%09d %d\n" % (i, i % 9) for i in range(800_000)))
    daemon = site.start(quick_program(), CONFIG_FILES_DIR=str(folder))
    site.source.write_text(site.text("first") + "# a comment of some length\n" * 560_000)
    site.applied("first", 60)
    daemon.wait_ready()
    peak = daemon.memory_kib()["VmHWM"] >> 10
    assert len(limits) == 2 and 64 < peak < min(limits), f"{peak} of {limits} MiB"
