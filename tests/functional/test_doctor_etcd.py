"""`doctor` where configurations go by way of etcd: a real one, plain or with TLS and authentication, and none at all."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness import parts, realparts
from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon, clean_env
from tests.harness.etcd import Etcd, Tls, pair_of
from tests.harness.process import free_port, wait_until

from .doctor import LONGEST, Found, compare, lines
from .rig import program

PATH = "/haproxy/east"
PASSWORDS = {"producer": "of-the-producer", "load-balancer": "of-the-load-balancers"}


@pytest.fixture(scope="module")
def etcd_program() -> pathlib.Path:
    with parts.or_skip("no etcd here"):
        return realparts.etcd_debian()


@pytest.fixture
def etcd(etcd_program: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Etcd]:
    with Etcd(etcd_program, tmp_path) as made:
        yield made


@pytest.fixture
def secure(etcd_program: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Etcd]:
    with Etcd(etcd_program, tmp_path, Tls(tmp_path)) as made:
        yield made


def producer(home: pathlib.Path, url: str, **settings: str) -> dict[str, str]:
    source = home / "haproxy.cfg"
    source.write_text("frontend fe\n  mode http\n  bind 127.0.0.1:1\n")
    return {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(source), "CONFIG_TARGET": "etcd", "CLUSTER_NAME": "east", "ETCD_PATH": PATH,
            "ETCD_ENDPOINTS": url} | settings


def balancer(home: pathlib.Path, url: str, **settings: str) -> dict[str, str]:
    (home / "dynamic.cfg").write_text("# nothing yet\n")
    return {"CONFIG_SOURCE": "etcd", "ETCD_PATH": PATH, "ETCD_ENDPOINTS": url, "HAPROXY_CONFIG_FILE": str(home / "dynamic.cfg"),
            "HAPROXY_MASTER_SOCKET": str(home / "master.sock"), **settings}


def look(settings: dict[str, str], there: Etcd | None = None) -> Found:
    env, before = clean_env(**settings), there.revision() if there else 0

    def run(how: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run([program(), "doctor", "--timeout=5s", "-o", how], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LONGEST, check=False)
        assert not any(password in done.stdout + done.stderr for password in PASSWORDS.values())
        return done

    as_json, as_text = run("json"), run("text")
    assert there is None or there.revision() == before, "it wrote something"
    if "HAPROXY_CONFIG_FILE" not in settings:
        return compare(as_json, as_text)
    body = json.loads(as_json.stdout)  # of a HAProxy on this machine it also says how long each thing took
    return Found(as_json.returncode, body["checks"], as_text.stdout + as_text.stderr)


def of_etcd(found: Found) -> list[tuple[str, str]]:
    return [(check["id"], check["status"]) for check in found.checks if check["id"].startswith("etcd.")]


GOOD = [("etcd.connection", "ok"), ("etcd.version", "ok"), ("etcd.credentials", "ok"), ("etcd.path", "ok"), ("etcd.published", "ok")]


def publish(etcd: Etcd, home: pathlib.Path, **settings: str) -> None:
    """By the producer itself."""
    with Daemon(home / "producer", producer(home, etcd.url, **settings), program()):
        wait_until(lambda: etcd.get(f"{PATH}/manifest"), 20, "it is published")


def test_a_producer_and_what_it_published(etcd: Etcd, tmp_path: pathlib.Path) -> None:
    settings = producer(tmp_path, etcd.url)
    empty = look(settings, etcd)
    assert (empty.status, of_etcd(empty)) == (0, GOOD), empty.text
    assert empty.one("etcd.published")["found"] == "nothing yet"
    assert "HAProxy http" not in empty.text and "Kubernetes" not in empty.text
    publish(etcd, tmp_path, ETCD_NAME="producer-1")
    found = look(settings, etcd)
    assert (found.status, of_etcd(found)) == (0, GOOD), found.text
    found.says("etcd.published", "ok", "version 1 of cluster east, by producer-1 at ")
    found.says("etcd.version", "ok", "etcd 3.")


def test_a_load_balancer_needs_no_kubernetes(etcd: Etcd, tmp_path: pathlib.Path) -> None:
    empty = look(balancer(tmp_path, etcd.url), etcd)
    assert of_etcd(empty) == [*GOOD[:-1], ("etcd.published", "warn")], empty.text
    assert "Kubernetes" not in empty.text and "the whole haproxy.cfg with /haproxy/east in etcd" in " ".join(empty.text.split())
    publish(etcd, tmp_path)
    assert of_etcd(look(balancer(tmp_path, etcd.url), etcd)) == GOOD


def test_what_is_another_writers_is_named(etcd: Etcd, tmp_path: pathlib.Path) -> None:
    etcd.put(PATH, "frontend of-a-script\n")
    for settings in (producer(tmp_path, etcd.url), balancer(tmp_path, etcd.url)):
        found = look(settings, etcd)
        found.says("etcd.published", "fail", "another program uses it")
    etcd.put(f"{PATH}/manifest", "{}")
    look(producer(tmp_path, etcd.url), etcd).says("etcd.published", "fail", "is no manifest")
    etcd.delete(PATH)
    etcd.delete(f"{PATH}/manifest")
    publish(etcd, tmp_path, CLUSTER_NAME="west")
    look(producer(tmp_path, etcd.url), etcd).says("etcd.published", "fail", "the cluster west publishes there")
    look(balancer(tmp_path, etcd.url), etcd).says("etcd.published", "ok", "of cluster west")


def test_where_nothing_listens_and_where_it_is_something_else(etcd: Etcd, tmp_path: pathlib.Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    found = look(producer(tmp_path, nowhere))
    assert of_etcd(found) == [("etcd.connection", "fail"), ("etcd.version", "skip"), ("etcd.path", "skip")], found.text
    found.says("etcd.connection", "fail", "nothing listens at that address")
    # One of two is enough to read, and the other one is named.
    half = look(producer(tmp_path, f"{nowhere},{etcd.url}"), etcd)
    assert of_etcd(half) == [("etcd.connection", "fail"), ("etcd.version", "skip"), *GOOD], half.text
    peers = look(producer(tmp_path, f"http://127.0.0.1:{etcd.peer_port}"))
    assert peers.status == 1 and of_etcd(peers)[0] == ("etcd.connection", "ok") and "etcd.path" in peers.failed(), peers.text


def test_certificates_are_named_by_their_settings(secure: Etcd, tmp_path: pathlib.Path) -> None:
    good = pair_of(secure.tls)
    found = look(producer(tmp_path, secure.url, **good), secure)
    # Those of tests end soon.
    assert found.status == 0 and {("etcd.tls", "ok"), ("etcd.certificates", "warn"), *GOOD} == set(of_etcd(found)), found.text
    without = look(producer(tmp_path, secure.url, ETCD_CA_FILE=good["ETCD_CA_FILE"]))
    check = without.says("etcd.answer", "fail", "")
    assert "ETCD_CERT_FILE and ETCD_KEY_FILE" in check["fixes"][0]["how"], check
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    wrong = look(producer(tmp_path, secure.url, **good | {"ETCD_CA_FILE": str(other.certificate)}))
    assert "ETCD_CA_FILE" in wrong.says("etcd.tls", "fail", "")["fixes"][0]["how"]
    none = look(producer(tmp_path, secure.url, **good | {"ETCD_CA_FILE": str(tmp_path / "none.pem")}))
    none.says("etcd.access", "fail", "ETCD_CA_FILE")
    assert none.status == 1


def test_users_and_their_rights(etcd: Etcd, tmp_path: pathlib.Path) -> None:
    etcd.secure(PASSWORDS)
    user, other = ({"ETCD_USER": name, "ETCD_PASSWORD": password} for name, password in PASSWORDS.items())
    found = look(producer(tmp_path, etcd.url, **user), etcd)
    assert (found.status, of_etcd(found)) == (0, GOOD), found.text
    assert of_etcd(look(balancer(tmp_path, etcd.url, **other), etcd)) == [*GOOD[:-1], ("etcd.published", "warn")], "nothing is"
    look(producer(tmp_path, etcd.url), etcd).says("etcd.credentials", "fail", "set ETCD_USER and ETCD_PASSWORD")
    look(producer(tmp_path, etcd.url, ETCD_USER="producer", ETCD_PASSWORD="wrong"), etcd).says("etcd.credentials", "fail", "see ETCD_USER and ETCD_PASSWORD")
    elsewhere = look(producer(tmp_path, etcd.url, **user) | {"ETCD_PATH": "/haproxy/west"}, etcd)
    check = elsewhere.says("etcd.path", "fail", "may not do this")
    assert {"etcdctl role grant-permission producer readwrite /haproxy/west",
            "etcdctl role grant-permission producer --prefix=true readwrite /haproxy/west/"} <= set(lines(check)), lines(check)
    check = look(balancer(tmp_path, etcd.url, **other) | {"ETCD_PATH": "/haproxy/west"}, etcd).says("etcd.path", "fail", "may not do this")
    assert [line for line in lines(check) if "readwrite" in line] == ["etcdctl role grant-permission load-balancer --prefix=true readwrite /haproxy/west/status/"]


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_a_load_balancer_writes_its_state_and_nothing_else(etcd_program: pathlib.Path, tmp_path: pathlib.Path, tls: bool) -> None:
    """By the rights of docs/examples/etcd/roles.sh, with a password that was stolen on one of them."""
    with Etcd(etcd_program, tmp_path, Tls(tmp_path) if tls else None) as etcd:
        etcd.put(PATH, "global\n")
        etcd.put(f"{PATH}/manifest", "{}")
        etcd.secure(PASSWORDS)
        etcd.log_in("load-balancer", PASSWORDS["load-balancer"])
        etcd.put(f"{PATH}/status/lb-1", "{}")
        assert etcd.get(PATH) == "global\n" and set(etcd.all(f"{PATH}/")) == {f"{PATH}/manifest", f"{PATH}/status/lb-1"}
        for key in (PATH, f"{PATH}/manifest", f"{PATH}/versions/2", f"{PATH}/parts/0", f"{PATH}/status", f"{PATH}-2", "/haproxy/west"):
            with pytest.raises(AssertionError, match="permission denied"):
                etcd.put(key, "mine")
            with pytest.raises(AssertionError, match="permission denied"):
                etcd.delete(key)
        for key in (f"{PATH}-2", "/haproxy/west"):
            with pytest.raises(AssertionError, match="permission denied"):
                etcd.get(key)


@pytest.mark.parametrize("words", ["plan", "explain n1", "config plan", "config validate FILE", "config apply FILE", "config apply", "config history", "config rollback"])
def test_other_commands_of_a_producer_say_what_it_has_not(tmp_path: pathlib.Path, words: str) -> None:
    settings = producer(tmp_path, "http://127.0.0.1:1", STATE_DIR=str(tmp_path))
    done = subprocess.run([program(), *words.replace("FILE", settings["CONFIG_FILE"]).split()], env=clean_env(**settings), capture_output=True, text=True,
                          timeout=LONGEST, check=False)
    assert done.returncode in (1, 78) and done.stdout == "" and done.stderr.startswith("error: CONFIG_TARGET=etcd "), done.stderr
    assert "/status" in done.stderr or "On a load balancer" in done.stderr
