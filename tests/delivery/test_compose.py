"""deploy/compose without an engine: what it names is there, each setting is one, and with its files the daemon and HAProxy start."""

from __future__ import annotations

import pathlib
import re
import subprocess
from typing import Any

import pytest

from tests.harness.daemon import Daemon, check_env, program
from tests.harness.haproxy import DoubleDataPlane, HAProxy, RealDataPlane, haproxy_binary, real_dataplane_binary
from tests.harness.process import ROOT

from . import docs_files, docs_names
from .once import version

FOLDER = ROOT / "deploy" / "compose"
PASSWORD = "change-me"
# Keys of the Compose Specification; what is written otherwise is refused by an engine, or means nothing.
TOP = {"name", "services", "volumes"}
SERVICE = {"image", "build", "user", "restart", "depends_on", "volumes", "entrypoint", "command", "ports", "read_only", "cap_drop",
           "security_opt", "environment"}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}

Object = dict[str, Any]


def loaded() -> Object:
    text = (FOLDER / "compose.yaml").read_text()
    return docs_files.load_yaml(text)[0]


def services() -> dict[str, Object]:
    return loaded()["services"]


def mounts(service: Object) -> list[tuple[str, str, str]]:
    """(what, where, how)"""
    found = []
    for entry in service.get("volumes", ()):
        what, where, *how = entry.split(":")
        found.append((what, where, *(how or ["rw"])))
    return found


def environment() -> dict[str, str]:
    """As an engine makes it, given the password."""
    return {name: re.sub(r"\$\{DATAPLANE_PASSWORD:\?[^}]*\}", PASSWORD, value)
            for name, value in services()["haproxy-k8s-sync"]["environment"].items()}


def inside(path: str, service: str) -> bool:
    """Whether it is on something that outlives the container, or comes from here."""
    return any(path == where or path.startswith(where + "/") for _, where, _ in mounts(services()[service]))


def test_it_has_known_keys_alone() -> None:
    assert set(loaded()) <= TOP
    assert set(services()) == {"prepare", "haproxy", "dataplaneapi", "haproxy-k8s-sync"}
    for name, service in services().items():
        assert not set(service) - SERVICE, name
        assert "image" in service
        for other, how in service.get("depends_on", {}).items():
            assert other in services() and set(how) == {"condition"} and how["condition"] in CONDITIONS, f"{name}: {other}"
    assert services()["prepare"].get("restart") is None, "what waits for its end would wait for ever"


def test_what_is_mounted_is_there() -> None:
    named = set()
    for name, service in services().items():
        for what, where, how in mounts(service):
            assert where.startswith("/") and how in ("ro", "rw"), f"{name}: {where}"
            if what.startswith("."):
                assert (FOLDER / what).exists(), f"{name}: {what}"
            else:
                named.add(what)
    assert named == set(loaded()["volumes"])
    assert (FOLDER / services()["haproxy-k8s-sync"]["build"] / "Dockerfile").resolve() == ROOT / "Dockerfile"


def test_versions_are_those_of_the_tree() -> None:
    assert services()["haproxy-k8s-sync"]["image"] == f"haproxy-k8s-sync:{version()}"
    assert len({services()[name]["image"] for name in ("prepare", "haproxy", "dataplaneapi")}) == 1


def test_settings_are_the_daemons(tmp_path: pathlib.Path) -> None:
    given = environment()
    assert set(given) <= docs_names.settings(), set(given) - docs_names.settings()
    for name in ("CONFIG_FILE", "CONFIG_FILES_DIR", "STATE_DIR"):
        assert inside(given[name], "haproxy-k8s-sync"), name
    host = re.fullmatch(r"http://([\w-]+):5555", given["HAPROXY_DATAPLANE_URL"])
    assert host and host[1] in services()
    (tmp_path / "state").mkdir()
    here = {name: value.replace("/config", str(FOLDER / "config")).replace("/state", str(tmp_path / "state")) for name, value in given.items()}
    done = subprocess.run([program(), "check-config"], env=check_env(**here), capture_output=True, text=True, check=False)
    # Within the network of these containers alone.
    said = [line for line in done.stderr.splitlines() if "unencrypted over the network" not in line]
    assert (done.returncode, said) == (0, []), done.stderr


def test_parts_find_each_other() -> None:
    """HAProxy, its API and the daemon name the same file, sockets, port, user and folders."""
    text = (FOLDER / "dataplaneapi.yml").read_text()
    docs_files.dataplane_yml(text)
    api = docs_files.load_yaml(text)[0]
    command = services()["haproxy"]["entrypoint"]
    assert api["haproxy"]["config_file"] == command[command.index("-f") + 1]
    assert command[command.index("-S") + 1] == api["haproxy"]["master_runtime"] + ",level,admin"
    assert api["dataplaneapi"]["port"] == 5555
    config = (FOLDER / "config" / "haproxy.cfg").read_text()
    assert f"\nuserlist {api['dataplaneapi']['userlist']['userlist']}\n  user {environment()['HAPROXY_DATAPLANE_USERNAME']} " in config
    for service in ("haproxy", "dataplaneapi"):
        assert inside(api["haproxy"]["config_file"], service) and inside(api["haproxy"]["master_runtime"], service)
        assert all(inside(path, service) for path in api["dataplaneapi"]["resources"].values()), "maps are read by HAProxy, too"
    assert inside(re.search(r"stats socket (\S+)", config)[1], "haproxy")  # type: ignore[index]
    assert f":{re.search(r'bind :(.*)', config)[1]}" in services()["haproxy"]["ports"][0]  # type: ignore[index]


def test_what_prepares_does_so_once(tmp_path: pathlib.Path) -> None:
    """Its script, in a shell, with its folders elsewhere."""
    places = {where: tmp_path / where.strip("/").replace("/", "-") for _, where, _ in mounts(services()["prepare"])}
    script = services()["prepare"]["command"][0].replace("chown 65532:65532", "test -d")
    for where in sorted(places, key=len, reverse=True):
        places[where].mkdir()
        script = re.sub(rf"(?<![\w/-]){where}", str(places[where]), script)
    (places["/config"] / "haproxy.cfg").write_text("first\n")
    for text in ("first\n", "second\n"):
        (places["/config"] / "haproxy.cfg").write_text(text)
        subprocess.run(["/bin/sh", "-ec", script], check=True)
        assert (places["/etc/haproxy/live"] / "haproxy.cfg").read_text() == "first\n"
    assert (places["/var/lib/dataplaneapi"] / "maps").is_dir()


@pytest.mark.skipif(haproxy_binary() is None, reason="no haproxy here (Debian's package haproxy)")
def test_its_files_make_a_working_pair(tmp_path: pathlib.Path) -> None:
    """HAProxy with its haproxy.cfg, then an edit: only sockets and ports are others."""
    text = (FOLDER / "config" / "haproxy.cfg").read_text()
    text = text.replace("/run/haproxy/admin.sock", "{d}/haproxy.sock").replace("bind :8000", "bind 127.0.0.1:{fe}")
    real = real_dataplane_binary()
    with HAProxy(tmp_path / "h", text) as haproxy:
        source = tmp_path / "haproxy.cfg"
        source.write_text(haproxy.config.read_text())
        dataplane = RealDataPlane(haproxy, tmp_path / "d", real) if real else DoubleDataPlane(haproxy, haproxy.config, tmp_path / "d")
        dataplane.auth = f"admin:{PASSWORD}"  # as its userlist has it
        given = environment() | {"CONFIG_FILE": str(source), "STATE_DIR": str(tmp_path / "state"), "HAPROXY_DATAPLANE_URL": dataplane.url}
        del given["CONFIG_FILES_DIR"]
        with dataplane, Daemon(tmp_path / "k", given) as daemon:
            daemon.wait_log('msg="configuration unchanged"')
            source.write_text(source.read_text().replace("status 200", "status 201"))
            daemon.wait_log('msg="configuration applied"')
            daemon.wait_ready()
