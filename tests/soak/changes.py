"""The stream of changes of a soak: one of tests/chaos/stream.py for each Service, whose nodes come back under ever new names and
addresses, as an autoscaler's do. What there is at one time is bounded, what there has ever been is not."""

from __future__ import annotations

import collections
import random
from collections.abc import Mapping

from tests.chaos.stream import Cluster, Stream

MOST_NODES = 10


class Changes:
    """step() does one; desired() is what must be in rotation when all of them have come through."""

    def __init__(self, cluster: Cluster, namespace: str, services: Mapping[str, int], seed: int):
        """services: name -> the first of its two nodePorts."""
        self.done = 0
        self._random = random.Random(f"{seed}: which Service")
        self._born: collections.Counter[tuple[str, int]] = collections.Counter()
        self.streams = {service: self._stream(i, service, port, f"{seed}: {service}", cluster, namespace)
                        for i, (service, port) in enumerate(services.items())}

    def _stream(self, i: int, service: str, port: int, seed: str, cluster: Cluster, namespace: str) -> Stream:
        def name(number: int) -> str:
            return f"{service}-{number}-{self._born[service, number]}"

        def address(number: int, moved: int) -> str:
            # Of what is there at one time no two are the same: these come again after 200 moves.
            return f"127.{40 + moved % 200}.{i}.{number}"

        return Stream(seed, cluster, namespace=namespace, service=service, node_ports=(port, port + 1), most_nodes=MOST_NODES,
                      names=name, addresses=address)

    def begin(self) -> None:
        for stream in self.streams.values():
            stream.begin()

    def step(self) -> str:
        service = self._random.choice(list(self.streams))
        stream = self.streams[service]
        numbers = {stream.nodes[name].name: int(name.split("-")[1]) for name in stream.nodes}
        said = stream.step()
        for name, number in numbers.items():
            if name not in stream.nodes:
                self._born[service, number] += 1  # the next one of this number is another
        self.done += 1
        return said

    def settle(self) -> None:
        """All is written, and there is a wish for each Service."""
        for service, stream in self.streams.items():
            stream.settle()
            if not stream.flush():
                raise AssertionError(f"{service}: {stream.unwritten} changes could not be written: {stream.trouble}")

    def desired(self) -> dict[str, dict[str, str]]:
        """Service -> server -> address:port"""
        return {service: stream.desired() for service, stream in self.streams.items()}

    @property
    def nodes_ever(self) -> int:
        return sum(len(stream.nodes) for stream in self.streams.values()) + sum(self._born.values())
