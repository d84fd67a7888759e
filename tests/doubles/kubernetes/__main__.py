"""The command line: python3 -m tests.doubles.kubernetes --listen 127.0.0.1:PORT --control 127.0.0.1:PORT ..."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import pathlib
import signal
import ssl
import sys

from . import generate
from .access import Access
from .control import Control
from .journal import Journal
from .manifests import Manifests
from .server import Api, Server
from .store import Store


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.doubles.kubernetes", description=sys.modules[__package__].__doc__)
    parser.add_argument("--listen", type=_address, default=("127.0.0.1", 0), metavar="HOST:PORT", help="the API (0: any port)")
    parser.add_argument("--control", type=_address, default=None, metavar="HOST:PORT", help="see control.py")
    parser.add_argument("--manifests", type=pathlib.Path, metavar="DIR", help="objects from *.yaml in here; "
                        "editing, adding or removing a file is an event")
    parser.add_argument("--generate-nodes", type=int, default=0, metavar="N", help="N realistic nodes and slices with them")
    parser.add_argument("--tls-cert", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--tls-key", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--client-ca", type=pathlib.Path, metavar="FILE", help="client certificates of this CA are users")
    parser.add_argument("--token", action="append", default=[], help="a bearer token that may read everything")
    parser.add_argument("--low-token", action="append", default=[], help="a token of the user low, who may read nothing")
    parser.add_argument("--no-streaming-list", action="store_true", help="as before 1.32 and in 1.33: 422")
    parser.add_argument("--play-etcd", choices=("3.6", "3.4"), default="3.6", help="3.4: streaming lists end in an ERROR 500")
    parser.add_argument("--json-alone", action="store_true", help="no protobuf")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="default: standard error")
    return parser.parse_args()


def _tls(arguments: argparse.Namespace) -> ssl.SSLContext | None:
    if not arguments.tls_cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.tls_cert, arguments.tls_key)
    context.set_alpn_protocols(["http/1.1"])
    if arguments.client_ca:
        context.load_verify_locations(arguments.client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


async def _run(arguments: argparse.Namespace, journal: Journal) -> None:
    tokens = {**{token: "admin" for token in arguments.token}, **{token: "low" for token in arguments.low_token}}
    access = Access(tokens, bool(arguments.client_ca))
    access.powerless.add("low")
    server = Server(Api(Store(), journal, access, streaming_lists=not arguments.no_streaming_list,
                        etcd=arguments.play_etcd, json_alone=arguments.json_alone))
    stop = asyncio.Event()
    if arguments.generate_nodes:
        generate.fill(server.api.store, arguments.generate_nodes)
    if arguments.manifests:
        manifests = Manifests(arguments.manifests, server.api.store, journal.say)
        manifests.poll()
        watching = asyncio.create_task(manifests.run())
        watching.add_done_callback(lambda _: stop.set())
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    tls = _tls(arguments)
    port = await server.start(*arguments.listen, tls)
    journal.say(f"kubernetes double on {'https' if tls else 'http'}://{arguments.listen[0]}:{port}")
    if arguments.control:
        journal.say(f"control on http://{arguments.control[0]}:{await Control(server).start(*arguments.control)}")
    await stop.wait()
    if arguments.manifests and watching.done():
        watching.result()


def main() -> None:
    arguments = _arguments()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(open(arguments.log, "a")) if arguments.log else None
        asyncio.run(_run(arguments, Journal(log)))


if __name__ == "__main__":
    main()
