"""Maps and certificates beside a haproxy.cfg change without a reload: a Data Plane API stores them, sends HAProxy commands, and is asked what runs."""

from __future__ import annotations

import pathlib
import shutil
import ssl
from collections.abc import Iterator

import pytest

from tests.harness.certificates import self_signed
from tests.harness.haproxy import haproxy_binary
from tests.harness.process import free_port, wait_until

from .rig import Rig
from .test_config_by_runtime import ADDRESS, PLAIN, Followed
from .test_config_secret import SOURCE

TOLD = "files changed in the running HAProxy; no reload"
MANY = "".join(f"z{i:04}.example be{i % 7}\n" for i in range(1000))
"""An API replaces no map of at most 8 KiB."""


class Site(Followed):
    """A map, a certificate and a page that a frontend refers to."""

    def __init__(self, rig: Rig, play: str):
        self.files, self.source, self.leaves = rig.home / "d", rig.home / "source.cfg", 0
        for folder in ("maps", "certs", "files"):
            (self.files / folder).mkdir(parents=True)
        self.give("maps/hosts.map", "a.example be\n" + MANY)
        self.give("certs/www.example.com.pem", self.pem(rig.home))
        self.give("files/sorry.http", "HTTP/1.0 503 x\r\n\r\n")
        self.tls = free_port()
        self.own = rig.dataplane.dir / "storage"
        self.front = (f"\nfrontend tls\n  mode http\n  bind 127.0.0.1:{self.tls} ssl crt {self.own}/ssl/www_example_com.pem\n"
                      f"  errorfile 503 {self.own}/general/sorry.http\n"
                      f"  http-response set-header x %[str(a.example),map({self.own}/maps/hosts.map,none)]\n")
        super().__init__(rig, play, **{**SOURCE, "CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "CONFIG_SECRET_NAME": "",
                                       "CONFIG_SECRET_NAMESPACE": "", "CONFIG_FILES_DIR": str(self.files)})

    def put(self, text: str) -> None:
        self.text = text
        beside = self.source.with_suffix(".next")
        beside.write_text(text + ("" if self.front in text else self.front))
        beside.rename(self.source)

    def give(self, name: str, text: str) -> None:
        beside = self.files / ".next"
        beside.write_bytes(text.encode())
        beside.rename(self.files / name)

    def pem(self, home: pathlib.Path) -> str:
        self.leaves += 1
        self.leaf = self_signed(home, f"{self.leaves}.example")
        return self.leaf.certificate.read_text() + self.leaf.key.read_text()

    def stored(self) -> str:
        return str(self.rig.dataplane.get("/storage/maps/hosts.map").text)

    def shown(self) -> list[str]:
        """What HAProxy has of the map, in its order."""
        lines = self.rig.haproxy.runtime(f"show map {self.own}/maps/hosts.map").splitlines()
        return [line.split(" ", 1)[1] for line in lines if line.strip()]

    def told(self, times: int) -> None:
        wait_until(lambda: self.daemon.log().count(TOLD) == times, 20, f"{times} times: {TOLD}")
        self.daemon.wait_ready()

    def serves(self) -> bool:
        return ssl.get_server_certificate(("127.0.0.1", self.tls)).strip() == self.leaf.certificate.read_text().strip()


def become(files: pathlib.Path, to: pathlib.Path) -> None:
    """At one stroke, as a volume of Kubernetes does."""
    beside = files.with_name("old")
    files.rename(beside)
    to.rename(files)
    shutil.rmtree(beside)


def next_files(files: pathlib.Path, changed: dict[str, str | None]) -> pathlib.Path:
    """Those, and these; None: it goes."""
    to = files.with_name("next")
    shutil.copytree(files, to)
    for name, text in changed.items():
        (to / name).unlink() if text is None else (to / name).write_bytes(text.encode())
    return to


@pytest.fixture(params=["3.0", "3.4"])
def site(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with Rig(tmp_path, PLAIN, request.param) as rig:
        yield Site(rig, request.param)


def test_the_entries_of_a_map(site: Site) -> None:
    for times, text in enumerate(("a.example other\n" + MANY, "b.example be\na.example other\n# said\na.example never\n" + MANY, "b.example be\n" + MANY, MANY,
                                  MANY.replace("z0500.example be3\n", "z0499x.example x\nz0500.example y\n"), "^c\\.d$ e\nf g\nh i\n" + MANY), 1):
        site.give("maps/hosts.map", text)
        site.told(times)
        assert site.stored() == text and site.shown() == [line for line in text.splitlines() if line[0] != "#"]
        assert site.without_reload()


def test_a_small_map_is_loaded(site: Site) -> None:
    """The API would append it to what HAProxy has."""
    site.give("maps/hosts.map", "a.example other\n")
    site.reloaded()
    assert site.stored() == "a.example other\n" and site.shown() == ["a.example other"]
    assert "replaces no map of at most 8 KiB" in site.daemon.log()


def test_a_certificate(site: Site) -> None:
    site.give("certs/www.example.com.pem", site.pem(site.rig.home))
    if site.play == "3.0":  # whose API sends HAProxy none
        site.reloaded()
        assert "older than 3.2" in site.daemon.log() and site.serves()
        return
    site.told(1)
    assert site.serves() and site.without_reload()


def test_what_the_api_cannot_tell_is_loaded(site: Site) -> None:
    for times, text in enumerate(("a.example two words\n" + MANY, "a.example\n" + MANY, "a.example b;c\n" + MANY, ""), 1):
        site.give("maps/hosts.map", text)
        site.reloaded()
        assert site.stored().strip() == text.strip() and [line.strip() for line in site.shown()] == text.splitlines()
        assert site.daemon.log().count('msg="files take a reload"') == times
        site.give("maps/hosts.map", "a.example be\n" + MANY)
        site.told(times)
        assert site.shown()[0] == "a.example be" and site.without_reload()


def test_with_a_page_all_of_it_is_loaded(site: Site) -> None:
    """And HAProxy is sent nothing before."""
    before = len(site.rig.dataplane.requests())
    become(site.files, next_files(site.files, {"files/sorry.http": "HTTP/1.0 503 y\r\n\r\n", "maps/hosts.map": "a.example other\n" + MANY}))
    site.reloaded()
    wait_until(lambda: site.shown()[0] == "a.example other", 20, "the map")
    assert not [r for r in site.rig.dataplane.requests()[before:] if r["method"] == "PUT" and "runtime" in r["path"]]
    assert "files/sorry.http: HAProxy reads it when it starts" in site.daemon.log()


def test_a_server_and_a_map(site: Site) -> None:
    site.give("maps/hosts.map", "a.example other\n" + MANY)
    site.change((ADDRESS, "127.0.11.3:30443"))
    site.told(1)
    assert site.agrees() and site.shown()[0] == "a.example other" and site.without_reload()


def test_what_haproxy_does_not_show_is_loaded(site: Site) -> None:
    """The API says that it sent the command to HAProxy, and did not."""
    site.rig.dataplane.fault({"action": "lie", "method": "PUT", "path": "runtime/maps"})
    site.give("maps/hosts.map", "a.example other\n" + MANY)
    site.reloaded()
    assert site.shown()[0] == "a.example other" and "HAProxy has other entries" in site.daemon.log()


@pytest.fixture
def appending(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """An API that does not know the version of its HAProxy, one that was built outside git, and appends what is to be all of a map."""
    unversioned = tmp_path / "unversioned"
    unversioned.write_text(f"""#!/bin/sh
test "$*" = -v || exec {haproxy_binary()} "$@"
{haproxy_binary()} -v | sed -E 's/(version [0-9.]+)-[^ ]*/\\1/'
""")
    unversioned.chmod(0o755)
    monkeypatch.setenv("HAPROXY", str(unversioned))
    with Rig(tmp_path, PLAIN, "3.0") as rig:
        yield Site(rig, "3.0")


def test_an_api_that_appends(appending: Site) -> None:
    """It is seen in what HAProxy shows, and a reload loads the map as it is."""
    site = appending
    for times, text in enumerate(("a.example other\n" + MANY, "b.example be\na.example other\na.example never\n" + MANY, "h3.example be3\n" + MANY), 1):
        site.give("maps/hosts.map", text)
        site.reloaded()
        assert site.stored() == text and site.shown() == text.splitlines()
        assert site.daemon.log().count("HAProxy has other entries") == times
