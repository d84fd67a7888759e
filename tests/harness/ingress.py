"""What listens on a node's port: real HAProxy and nginx as ingress controllers, with the PROXY protocol required or not, in HTTP and
TLS; and peers that behave badly."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket
import struct
import threading
from collections.abc import Callable, Iterator

from .certificates import Authority
from .haproxy import haproxy_binary
from .process import Process, free_port, port_open, wait_until

KINDS = {"http": (False, False), "http-proxy": (False, True), "tls": (True, False), "tls-proxy": (True, True)}
"""Name -> (TLS, wants the PROXY protocol)."""


def certificate(home: pathlib.Path) -> pathlib.Path:
    """Certificate and key in one file."""
    pair = Authority(home / "ca").server("node")
    both = home / "node.pem"
    both.write_text(pair.certificate.read_text() + pair.key.read_text())
    return both


def haproxy_config(address: str, ports: dict[str, int], pem: pathlib.Path) -> str:
    binds = "".join(f"  bind {address}:{ports[kind]}{f' ssl crt {pem}' if tls else ''}{' accept-proxy' if proxy else ''}\n"
                    for kind, (tls, proxy) in KINDS.items() if kind in ports)
    return ("defaults\n  mode http\n  timeout connect 1s\n  timeout client 10s\n  timeout server 10s\n"
            f"frontend nodes\n{binds}  http-request return status 404\n")


def nginx_config(home: pathlib.Path, address: str, ports: dict[str, int], pem: pathlib.Path) -> str:
    listens = "".join(f"  listen {address}:{ports[kind]}{' ssl' if tls else ''}{' proxy_protocol' if proxy else ''};\n"
                      for kind, (tls, proxy) in KINDS.items() if kind in ports)
    return (f"daemon off; pid {home}/nginx.pid; error_log {home}/nginx.error.log;\nevents {{}}\nhttp {{\n access_log off;\n"
            + "".join(f" {what}_temp_path {home}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + f" server {{\n{listens}  ssl_certificate {pem}; ssl_certificate_key {pem};\n  return 404;\n }}\n}}\n")


def lacks(server: str) -> str:
    """Why this machine cannot run it; "" where it can."""
    if server == "haproxy":
        return "" if haproxy_binary() else "no haproxy here"
    return "" if nginx_binary() else "no nginx here"


def nginx_binary() -> str | None:
    return shutil.which("nginx") or shutil.which("/usr/sbin/nginx")


@contextlib.contextmanager
def ingress(server: str, home: pathlib.Path, address: str) -> Iterator[dict[str, int]]:
    """One process that listens at all KINDS; yields their ports."""
    home.mkdir(parents=True, exist_ok=True)
    ports = {kind: free_port(address) for kind in KINDS}
    pem, config = certificate(home), home / f"{server}.conf"
    if server == "haproxy":
        config.write_text(haproxy_config(address, ports, pem))
        command = [haproxy_binary() or "haproxy", "-db", "-f", str(config)]
    else:
        config.write_text(nginx_config(home, address, ports, pem))
        command = [nginx_binary() or "nginx", "-p", str(home), "-c", str(config)]
    process = Process(command, home / f"{server}.log", name=server)
    try:
        for port in ports.values():
            wait_until(lambda: process.alive and port_open(port, address), 10, f"{server} at port {port}: {process.log()}")
        yield ports
    finally:
        process.stop()


# --- peers that behave badly

def silent(peer: socket.socket) -> None:
    """Takes everything, says nothing."""
    with contextlib.suppress(OSError):
        while peer.recv(4096):
            pass


def reset(peer: socket.socket) -> None:
    with contextlib.suppress(OSError):
        peer.recv(1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def garbage(peer: socket.socket) -> None:
    """A server that speaks first, and neither HTTP nor TLS."""
    with contextlib.suppress(OSError):
        peer.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n" + bytes(range(256)) * 64)
        silent(peer)


def slow(peer: socket.socket) -> None:
    """An answer of which a byte comes every now and then, and that has no end."""
    with contextlib.suppress(OSError):
        peer.settimeout(0.5)
        for byte in b"HTTP/1.1 20":
            peer.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                if not peer.recv(4096):
                    return


PEERS: dict[str, Callable[[socket.socket], None]] = {"silent": silent, "reset": reset, "garbage": garbage, "slow": slow}


@contextlib.contextmanager
def peer(behaviour: Callable[[socket.socket], None], address: str) -> Iterator[int]:
    """Listens and treats every connection so; yields the port."""
    listener = socket.create_server((address, 0), backlog=64)

    def serve(connection: socket.socket) -> None:
        with connection:
            behaviour(connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
