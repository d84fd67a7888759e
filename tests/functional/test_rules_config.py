"""What a whole configuration from a file may be done with: loaded where an order counts, sent to the running HAProxy only where a rule
names it, checked in HAProxy's own environment. HAProxy itself says what came of it."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import ssl
from collections.abc import Callable, Iterator

import pytest

from tests.harness.certificates import self_signed
from tests.harness.daemon import Daemon
from tests.harness.haproxy import PLAIN
from tests.harness.local import Renames
from tests.harness.process import free_port, wait_until

from .test_local import Local, await_log

APPLIED, TOLD = 'msg="configuration applied"', "HAProxy runs its changes without a reload"


@contextlib.contextmanager
def followed(local: Local, **settings: str) -> Iterator[Daemon]:
    """The daemon has loaded what HAProxy has: local.first."""
    local.first = local.first.replace("timeout client 5s", "timeout client 6s")
    local.put(local.first)
    with local.haproxy, local.daemon(**settings) as daemon:
        await_log(daemon, APPLIED)
        daemon.wait_ready()
        yield daemon


def taken(local: Local, daemon: Daemon, text: str, reloads: bool = True) -> None:
    """It is in haproxy.cfg, and HAProxy was reloaded for it, or was not."""
    worker = local.haproxy.worker()
    local.put(text)
    await_log(daemon, APPLIED, 2)
    daemon.wait_ready()
    assert local.haproxy.config.read_text() == text
    assert (local.haproxy.worker() != worker) == reloads and (TOLD not in daemon.log()) == reloads, daemon.tail()


def refused(local: Local, daemon: Daemon, text: str, why: str) -> None:
    """It never stood in haproxy.cfg."""
    worker, renames = local.haproxy.worker(), Renames(str(local.haproxy.dir), local.haproxy.config.name)
    renames.open()
    try:
        local.put(text)
        daemon.wait_not_ready(why)
        assert renames.count() == 0 and local.haproxy.config.read_text() == local.first and local.haproxy.worker() == worker
    finally:
        renames.close()


def answer(name: str) -> str:
    return f'  http-request return status 200 content-type text/plain string "{name}"\n'


# --- order counts

FRONTEND = "frontend fe\n  bind 127.0.0.1:{port}\n"
SECURE = "frontend fe\n  bind 127.0.0.1:{port} ssl crt {one} crt {two}\n"
BACKENDS = "".join(f"backend {name}\n{answer(name)}" for name in ("one", "two"))
DEFAULTS = "".join(f"defaults\n  mode http\n  timeout client 9s\n  default_backend {name}\n" for name in ("one", "two"))


def swap(text: str, a: str, b: str) -> str:
    assert text.count(a) == text.count(b) == 1
    return text.replace(a, "\0").replace(b, a).replace("\0", b)


def shown(local: Local) -> str:
    """Which certificate TLS 1.2 gets."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode, tls.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    try:
        with socket.create_connection(("127.0.0.1", local.haproxy.port), 5) as s, tls.wrap_socket(s) as session:
            got = ssl.DER_cert_to_PEM_cert(session.getpeercert(True) or b"")
    except ssl.SSLError:
        return "none"
    return next(name for name in ("one", "two") if got in (local.home / f"{name}.pem").read_text())


@pytest.mark.parametrize(("text", "a", "b", "look", "was", "becomes"), [
    (PLAIN + FRONTEND + answer("one") + answer("two"), answer("one"), answer("two"), Local.says, "one", "two"),
    (PLAIN + "global\n  setenv WORD one\n  setenv WORD two\n" + FRONTEND + answer("$WORD"), "WORD one", "WORD two", Local.says, "two", "one"),
    (PLAIN + "global\n  setenv WORD one\n" + FRONTEND + answer("$WORD") + "global\n  setenv WORD two\n",
     "WORD one", "WORD two", Local.says, "one", "two"),
    (PLAIN + DEFAULTS + FRONTEND + BACKENDS, "default_backend one", "default_backend two", Local.says, "two", "one"),
    (PLAIN + "global\n  description test\n" + SECURE + "global\n  ssl-default-bind-options ssl-min-ver TLSv1.3\n",
     "description test", "ssl-default-bind-options ssl-min-ver TLSv1.3", shown, "one", "none"),
    (PLAIN + SECURE, "one.pem", "two.pem", shown, "one", "two"),
], ids=["rules", "setenv", "a second global", "defaults", "global before bind", "words of a bind"])
def test_another_order_is_loaded(tmp_path: pathlib.Path, text: str, a: str, b: str, look: Callable[[Local], str], was: str,
                                 becomes: str) -> None:
    names = {name: str(tmp_path / f"{name}.pem") for name in ("one", "two")}
    for name, path in names.items() if look is shown else ():
        pair = self_signed(tmp_path, name)
        pathlib.Path(path).write_text(pair.certificate.read_text() + pair.key.read_text())
    local = Local(tmp_path, text, names)
    with followed(local) as daemon:
        wait_until(lambda: look(local) == was, 10, was)
        taken(local, daemon, swap(local.first, a, b))
        wait_until(lambda: look(local) == becomes, 10, becomes)


ACL, DENY = "  acl admin path_beg /admin\n", "  http-request deny if admin\n"
BASE, FROM = "defaults base\n  mode http\n", "frontend more from base\n"


@pytest.mark.parametrize(("text", "first", "then", "why"), [
    (PLAIN + FRONTEND + ACL + DENY, ACL, DENY, "no such ACL : 'admin'"), (PLAIN + BASE + FROM, BASE, FROM, "defaults section 'base' not found"),
], ids=["acl", "defaults"])
def test_an_order_that_haproxy_refuses(tmp_path: pathlib.Path, text: str, first: str, then: str, why: str) -> None:
    """With a change that a runtime update could make."""
    local = Local(tmp_path, text + "backend b\n  server s1 127.0.0.1:9001\n")
    with followed(local) as daemon:
        refused(local, daemon, swap(local.first, first, then).replace("9001", "9002"), why)
        assert local.haproxy.servers("b")["s1"]["srv_port"] == "9001"


# --- by the runtime only what a rule names

SERVED = PLAIN + FRONTEND + "  default_backend b\n" + "".join(
    f"frontend {name}\n  bind 127.0.0.1:{{{name}}}\n{answer(name)}" for name in ("live", "other"))
SERVED += "backend probe\n  server p 127.0.0.1:{live} check\nbackend b\n"
LIVE = "  server s1 127.0.0.1:{live}\n"
DOWN = "  server a 127.0.0.1:{dead} check inter 300 fall 1\n"
Z, Y = ("  server %s 127.0.0.1:{%s} check inter 300 backup\n" % which for which in (("z", "live"), ("y", "other")))
STAGING = "  .if defined(STAGING)\n  server s1 127.0.0.1:{dead}\n  .else\n" + LIVE + "  .endif\n"


@pytest.mark.parametrize(("was", "becomes", "says", "reloads"), [
    (LIVE, "  server s1 127.0.0.1:{other}\n", "other", False),
    (STAGING, STAGING.replace("{dead}", "{other}"), "live", True),
    ("  server s1 localhost:{live}\n", "  server s1 127.0.0.1:{other}\n", "other", True),
    ("  server s1 127.0.0.1:{live} track probe/p\n", "  server s1 127.0.0.1:{other} track probe/p\n", "other", True),
    (LIVE + '  server s2 "127.0.0.1:{dead}$NOTHING" backup\n', '  server s1 127.0.0.1:{other}\n  server s2 "127.0.0.1:{dead}$NOTHING" backup\n',
     "other", True),
    (DOWN + Z, DOWN + Y + Z, "other", True),
    (DOWN + Z, DOWN + Z + Y, "live", False),
], ids=["address", "a branch that is not active", "a host name", "track", "a variable", "a backup before another", "a backup behind another"])
def test_what_runs_is_what_the_file_says(tmp_path: pathlib.Path, was: str, becomes: str, says: str, reloads: bool) -> None:
    values = {name: str(free_port()) for name in ("live", "other", "dead")}
    local = Local(tmp_path, SERVED + was, values)
    with followed(local) as daemon:
        local.await_says("live")
        head = local.first.rpartition("\nbackend b\n")[0]
        for name, port in values.items():
            becomes = becomes.replace("{" + name + "}", port)
        taken(local, daemon, f"{head}\nbackend b\n{becomes}", reloads)
        local.await_says(says)
        assert {local.says() for _ in range(10)} == {says}


def test_2000_servers_join_without_a_reload(tmp_path: pathlib.Path) -> None:
    local = Local(tmp_path, PLAIN + "backend b\n  server s0 127.1.0.1:80\n")
    with followed(local) as daemon:
        taken(local, daemon, local.first + "".join(f"  server s{i} 127.1.{i // 250}.{i % 250 + 1}:80\n" for i in range(1, 2000)), reloads=False)
        assert len(local.haproxy.servers("b")) == 2000


# --- in HAProxy's own environment

BROKEN = ".if defined(PROD)\nbackend broken\n  no-such-keyword\n.endif\n"


@pytest.mark.parametrize("of", ["HAProxy", "a file", "nobody"])
def test_the_check_has_the_environment(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    """Of HAProxy itself, or of the file that is named, which has another one here."""
    if of == "HAProxy":
        monkeypatch.setenv("PROD", "1")
    (tmp_path / "environment").write_text('# of HAProxy\nOTHER=2\nPROD="1"\n')
    local = Local(tmp_path, PLAIN)
    with followed(local, **({"HAPROXY_ENVIRONMENT_FILE": str(tmp_path / "environment")} if of == "a file" else {})) as daemon:
        if of == "nobody":
            taken(local, daemon, local.first + BROKEN)
        else:
            refused(local, daemon, local.first + BROKEN, "no-such-keyword")


# HAProxy reads the first branch after a reload, and `haproxy -c` by itself another one.
OWN = ".if {condition}\nbackend own\n.else\n  no-such-keyword\n.endif\n"


@pytest.mark.parametrize("of", ["HAProxy", "a file"])
@pytest.mark.parametrize("condition", ["defined(HAPROXY_MWORKER)", 'streq("$HAPROXY_SITE",one)', 'streq("$HAPROXY_LOCALPEER",me)'],
                         ids=["master", "of the operator", "peer"])
def test_the_check_has_what_haproxy_sets_and_the_operator_calls_so(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, of: str,
                                                                   condition: str) -> None:
    """In all its versions: a reload takes it, too."""
    monkeypatch.setenv("HAPROXY_SITE", "one")
    (tmp_path / "environment").write_text("HAPROXY_SITE=one\nHAPROXY_LOCALPEER=me\n")
    local = Local(tmp_path, PLAIN)
    local.haproxy.options = ["-L", "me"]
    with followed(local, **({"HAPROXY_ENVIRONMENT_FILE": str(tmp_path / "environment")} if of == "a file" else {})) as daemon:
        taken(local, daemon, local.first + OWN.replace("{condition}", condition))
        assert "own" in local.haproxy.runtime("show backend")


def test_an_environment_that_cannot_be_read_is_named(tmp_path: pathlib.Path) -> None:
    """Nothing is written until it can be."""
    local, file = Local(tmp_path, PLAIN), tmp_path / "environment"
    file.write_text("")
    with followed(local, HAPROXY_ENVIRONMENT_FILE=str(file)) as daemon:
        file.unlink()
        local.put(local.first + "backend more\n")
        daemon.wait_not_ready(f"configuration: not validated yet: cannot change HAProxy's configuration: cannot read {file}, the environment of HAProxy")
        daemon.wait_metric("reconciles_total", 2, result="unavailable")  # it was tried again, and read before
        daemon.wait_not_ready(f"cannot read {file}, the environment of HAProxy")
        assert "problem resolved" not in daemon.log() and local.haproxy.config.read_text() == local.first
        file.write_text("PROD=1\n")
        taken(local, daemon, local.first + "backend others\n")
        await_log(daemon, 'msg="problem resolved"')
