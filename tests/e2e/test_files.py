"""Files whose meaning any write of the Data Plane API changes: nothing is written to them, and /readyz, `plan` and `doctor` name the
lines. Without it between the daemon and the file, what stands elsewhere does not matter."""

from __future__ import annotations

import pytest

from tests.harness.process import wait_until

from .world import BACKEND, World

ASIDE = "backend aside\n  server a 127.0.0.1:9\n"
BETWEEN = ASIDE + "  default-server inter 9s\n  server b 127.0.0.1:9\n"
CONDITIONAL = ASIDE + ".if defined(NOT_THERE)\n  timeout server 1s\n.endif\n"
# The API's parser does not know ignore-empty, and puts such a rule behind all others.
RULES = ("backend aside\n  mode http\n  http-request redirect code 301 location /x ignore-empty if { path /a }\n"
         "  http-request deny\n")


def line_of(world: World, text: str) -> int:
    return [line.strip() for line in world.dataplane.file().splitlines()].index(text) + 1


def refused(world: World) -> str:
    def said() -> str:
        status, body = world.daemon.get("/readyz")
        return body if status == 503 and "a write would change the meaning of haproxy.cfg" in body else ""

    return str(wait_until(said, 30, "/readyz saying that nothing is written"))


def add(world: World, more: str) -> tuple[str, str]:
    change = (f"\nbackend {BACKEND}\n", f"\n{more}\nbackend {BACKEND}\n")
    world.start_with(change)
    return change[1], change[0]


@pytest.mark.needs_api("lines that a write of the API would change; others' lines stay as they are on this machine")
@pytest.mark.parametrize("more, at", [(CONDITIONAL, ".if defined(NOT_THERE)"), (BETWEEN, "default-server inter 9s"),
                                      (RULES, "http-request redirect code 301 location /x ignore-empty if { path /a }")],
                         ids=["conditional", "default-server", "rules"])
def test_such_a_file_stays_as_it_is_until_it_is_put_right(world: World, more: str, at: str) -> None:
    if more == RULES and world.dataplane.kind == "double":
        pytest.skip("the double's parser knows every rule")
    back = add(world, more)
    before, number = world.dataplane.file(), line_of(world, at)
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    daemon = world.start_daemon(RESYNC_PERIOD="1s")
    body = refused(world)
    assert f"line {number}" in body or f"lines {number}, " in body
    seen = daemon.metrics().sum("http_requests_total", target=world.dataplane.url, method="GET")
    daemon.wait_metric("http_requests_total", seen + 20, timeout=60, target=world.dataplane.url, method="GET")
    assert world.dataplane.file() == before
    assert not world.dataplane.get("/transactions").json()
    if more != RULES:  # which only an empty transaction shows
        for command in ("plan", "doctor"):
            done = world.command(command)
            said = " ".join((done.stdout + done.stderr).split())
            assert done.returncode == 1 and (f"line {number}" in said or f"lines {number}, " in said), said
    world.start_with(back)
    world.expect("node-a", "node-b")
    world.in_step()


@pytest.mark.needs_api("a file that is written anew")
def test_several_defaults_are_taken_where_each_proxy_keeps_its_own(world: World) -> None:
    """The Data Plane API gives each its `from` when it reads the file itself."""
    world.start_with(("\nbackend ingress\n", "\ndefaults\n  mode tcp\n  timeout connect 3s\n  timeout client 31s\n  timeout server 31s\n"
                                             "\nbackend ingress\n"))
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    world.start_daemon()
    world.expect("node-a", "node-b")
    world.in_step()
    text = world.dataplane.file()
    assert "frontend fe from unnamed_defaults_1" in text
    assert "backend ingress from unnamed_defaults_2" in text
