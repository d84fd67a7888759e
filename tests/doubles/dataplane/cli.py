"""Command line."""

from __future__ import annotations

import argparse
import os
import signal
import threading

from .control import Control
from .faults import Faults
from .haproxy import Checker
from .httpd import Listener, RequestLog, tls_context
from .reloaders import Reloader, SignalReloader, SocketReloader
from .routes import Api
from .service import Service


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="python3 -m tests.doubles.dataplane",
                                description="A double of HAProxy's Data Plane API v3 over a real haproxy.cfg.")
    p.add_argument("--config", required=True, help="the haproxy.cfg to edit")
    p.add_argument("--haproxy", default="/usr/sbin/haproxy", help="for `haproxy -c`")
    p.add_argument("--listen", action="append", required=True, metavar="HOST:PORT|unix:PATH", help="may be repeated")
    p.add_argument("--play", choices=["3.0", "3.4"], default="3.4", help="the version whose answers to give")
    p.add_argument("--reload-delay", type=float, default=5.0, metavar="SECONDS")
    p.add_argument("--state-dir", required=True, help="where transactions are kept")
    p.add_argument("--storage-dir", help="where maps, certificates and general files are kept; else beside the configuration")
    how = p.add_mutually_exclusive_group(required=True)
    how.add_argument("--master-socket", help="reload by the master socket (HAProxy 2.7 and later)")
    how.add_argument("--pid-file", help="reload by SIGUSR2 to the master whose pid stands there")
    p.add_argument("--haproxy-log", help="where that master writes: its words when it refuses a file")
    p.add_argument("--user", action="append", default=[], metavar="NAME:PASSWORD", help="beside those of the userlist")
    p.add_argument("--token", help="a bearer token that is taken too, as a proxy in front would")
    p.add_argument("--control", metavar="HOST:PORT", help="the port for faults; see control.py")
    p.add_argument("--log", help="file for a line about each request")
    p.add_argument("--deaf-runtime", action="store_true", help="it cannot be read, as through 2.6's master socket")
    p.add_argument("--tls-cert")
    p.add_argument("--tls-key")
    p.add_argument("--tls-ca", help="clients must show a certificate of this authority")
    return p.parse_args()


def reloader(args: argparse.Namespace) -> Reloader:
    if args.master_socket:
        return SocketReloader(args.master_socket)
    return SignalReloader(args.pid_file, args.haproxy_log)


def main() -> int:
    args = arguments()
    service = Service(os.path.abspath(args.config), args.play, args.state_dir, Checker(args.haproxy), reloader(args),
                      args.reload_delay, os.path.abspath(args.storage_dir or os.path.join(os.path.dirname(args.config), "storage")),
                      args.deaf_runtime)
    extra = {name: "\0" + password for name, _, password in (user.partition(":") for user in args.user)}
    faults, log = Faults(), RequestLog(args.log)
    tls = tls_context(args.tls_cert, args.tls_key or args.tls_cert, args.tls_ca) if args.tls_cert else None
    api = Api(service, extra, token=args.token, open_to_all=bool(tls and args.tls_ca))
    stop = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: stop.set())
    listeners = []
    if args.control:  # first, so that who sees the API up can count on it
        listeners.append(Listener(args.control, Control(service, faults, log).answer, RequestLog(), Faults()).start())
    listeners += [Listener(where, api.answer, log, faults, tls).start() for where in args.listen]
    print("ready on " + ", ".join(args.listen), flush=True)
    stop.wait()
    for listener in listeners:
        listener.stop()
    service.stop()
    return 0
