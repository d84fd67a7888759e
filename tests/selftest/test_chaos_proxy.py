"""The proxies of tests/chaos do as their mode says, to requests and to commands."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.chaos.command_proxy import TOLD, CommandProxy
from tests.chaos.proxy import Mode, Proxy


# --- of requests


@pytest.fixture
def peer() -> Iterator[int]:
    """An HTTP server of one answer."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            while b"\r\n\r\n" in (sock.recv(4096) or b""):
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789")

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


@pytest.mark.parametrize("step", ["request", "answer"])
def test_the_proxy_stops_at_one_request(proxy: Proxy, step: str) -> None:
    seen: list[str] = []
    stopped = proxy.stop_at("^GET /", step, lambda: seen.append(step))
    assert asked(proxy, 5).endswith(b"0123456789") and stopped.is_set()
    assert asked(proxy, 5).endswith(b"0123456789") and seen == [step]
    assert not proxy.stop_at("^POST ", step, lambda: seen.append("wrong")).is_set()
    assert asked(proxy, 5).endswith(b"0123456789") and seen == [step]


@pytest.fixture
def proxy(peer: int) -> Iterator[Proxy]:
    made = Proxy("127.0.0.1", peer, seed=1).start()
    yield made
    made.stop()


def asked(proxy: Proxy, timeout: float = 0.5) -> bytes:
    with socket.create_connection(("127.0.0.1", proxy.port), 2) as sock:
        sock.settimeout(timeout)
        sock.sendall(b"GET / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
        got = b""
        try:
            while not got.endswith(b"0123456789"):
                more = sock.recv(4096)
                if not more:
                    break
                got += more
        except TimeoutError:
            got += b"<silence>"
        return got


def test_the_proxy_carries_what_it_gets(proxy: Proxy) -> None:
    assert asked(proxy, 5).endswith(b"\r\n\r\n0123456789")


@pytest.mark.parametrize("step", ["connect", "request", "body", "before-answer"])
def test_the_proxy_resets_before_the_answer(proxy: Proxy, step: str) -> None:
    proxy.set(Mode("reset", step=step))
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        asked(proxy, 5)
    assert proxy.hits["reset"] == 1
    proxy.calm()
    assert asked(proxy, 5).endswith(b"0123456789")


def test_the_proxy_resets_in_the_middle_of_an_answer(proxy: Proxy) -> None:
    proxy.set(Mode("reset", step="mid-answer"))
    with socket.create_connection(("127.0.0.1", proxy.port), 2) as sock, pytest.raises(ConnectionResetError):
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert sock.recv(20)
        while sock.recv(4096):
            pass


def test_the_proxy_swallows_and_stays_mute_until_it_forgets(proxy: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.port), 2) as sock:
        proxy.set(Mode("half-open"))
        sock.settimeout(0.3)
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(TimeoutError):
            sock.recv(10)
        proxy.calm()
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(TimeoutError):
            sock.recv(10)
        assert asked(proxy, 5).endswith(b"0123456789"), "a new connection is well"
        proxy.forget()
        sock.settimeout(5)
        with pytest.raises(ConnectionResetError):
            sock.recv(10)


def test_the_proxy_answers_itself(proxy: Proxy) -> None:
    proxy.set(Mode("status", status=429, retry_after=2))
    assert b"HTTP/1.1 429" in asked(proxy) and b"Retry-After: 2" in asked(proxy)
    proxy.set(Mode("slow"))
    assert asked(proxy, 0.5) == b"H<silence>"
    proxy.set(Mode("refuse"))
    with pytest.raises(ConnectionRefusedError):
        asked(proxy)


def test_garbage_is_none_that_a_client_takes_for_the_answer(proxy: Proxy) -> None:
    proxy.set(Mode("garbage"))
    for _ in range(10):
        try:
            assert not asked(proxy, 2).endswith(b"0123456789")
        except ConnectionResetError:
            pass


# --- of commands


@pytest.fixture
def commands(tmp_path: pathlib.Path) -> Iterator[CommandProxy]:
    """To one that answers with what it was asked, or with a version."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "haproxy.sock"))
    listener.listen()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                with sock, contextlib.suppress(OSError):
                    asked = sock.makefile("rb").readline()
                    sock.sendall(b"1.2\n\n" if asked == b"show version\n" else b"heard " + asked)

    threading.Thread(target=serve, daemon=True).start()
    made = CommandProxy(tmp_path / "stats.sock", tmp_path / "haproxy.sock", seed=1)
    made.start()
    yield made
    made.stop()
    listener.close()


def commanded(proxy: CommandProxy, command: bytes = b"set server a/b weight 1\n", timeout: float = 5) -> bytes:
    got = b""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(timeout)
        sock.connect(str(proxy.path))
        with contextlib.suppress(OSError):
            sock.sendall(command)
            sock.shutdown(socket.SHUT_WR)
            while more := sock.recv(4096):
                got += more
    return got


def test_commands_go_through(commands: CommandProxy) -> None:
    assert commanded(commands) == b"heard set server a/b weight 1\n"


@pytest.mark.parametrize("mode, said", [(Mode("reset", "connect"), b""), (Mode("reset", "request"), b""), (Mode("reset", "body"), b""),
                                        (Mode("reset", "before-answer"), b""), (Mode("reset", "mid-answer"), b"heard set serve"),
                                        (Mode("lie", only=TOLD), b"\n\n"), (Mode("slow"), b"h")])
def test_commands_are_struck(commands: CommandProxy, mode: Mode, said: bytes) -> None:
    commands.set(mode)
    assert commanded(commands, timeout=0.5) == said and commands.hits[mode.kind] == 1
    commands.calm()
    assert commanded(commands).startswith(b"heard ")


def test_a_lie_has_the_form_of_the_truth(commands: CommandProxy) -> None:
    commands.set(Mode("lie", only=TOLD))
    assert commanded(commands, b"show version; set server a/b weight 1; show version\n") == b"1.2\n\n1.2\n\n"
    assert b"Success!\n" in commanded(commands, b"commit ssl cert x\n")
    assert commanded(commands, b"show map x\n") == b"heard show map x\n", "that is no telling"


@pytest.mark.parametrize("step", ["request", "answer"])
def test_the_proxy_stops_at_one_command(commands: CommandProxy, step: str) -> None:
    seen: list[str] = []
    stopped = commands.stop_at("^commit map", step, lambda: seen.append(step))
    assert commanded(commands).startswith(b"heard ") and not seen
    assert commanded(commands, b"commit map x\n").startswith(b"heard ") and stopped.is_set() and seen == [step]
