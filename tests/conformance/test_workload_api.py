"""What the daemon relies on in a SPIFFE Workload API, on the double and on a real SPIRE agent alike. $SPIRE_SERVER and $SPIRE_AGENT,
or spire-server and spire-agent on PATH, name the real one."""

from __future__ import annotations

import contextlib
import pathlib
import ssl
import subprocess
from collections.abc import Iterator, Mapping

import grpc
import pytest

from tests.doubles.spiffe import HEADER, NOBODY, SERVICE, Agent, Svid, fields, response
from tests.harness.certificates import Authority, der
from tests.harness.process import wait_until
from tests.harness.parts import real_spire
from tests.harness.spire import Spire
from tests.harness.svids import svid

DOMAIN = "spiffe://example.test"
OURS, OTHER = f"{DOMAIN}/lb/haproxy-k8s-sync", f"{DOMAIN}/lb/other"
FOREIGN = "spiffe://foreign.test"
METHODS = ("FetchX509SVID", "FetchX509Bundles")
PATIENCE_S = 60


# --- a client

class Stream:
    """One call; what its messages hold, and how it ends."""

    def __init__(self, socket: pathlib.Path, method: str = METHODS[0], metadata: tuple[tuple[str, str], ...] = (HEADER,), request: bytes = b""):
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        self._call = self._channel.unary_stream(f"/{SERVICE}/{method}")(request, metadata=metadata, timeout=PATIENCE_S)

    def message(self) -> bytes:
        return bytes(next(self._call))

    def svids(self) -> list[Svid]:
        return svids(self.message())

    def end(self) -> tuple[grpc.StatusCode, str]:
        """What comes in place of a message, or behind some more."""
        with contextlib.suppress(StopIteration):
            try:
                while True:
                    self.message()
            except grpc.RpcError as e:
                return e.code(), e.details()
        return self._call.code(), self._call.details()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self._call.cancel()
        self._channel.close()


def texts(found: Mapping[int, bytes]) -> Svid:
    return Svid(found[1].decode(), found[2], found[3], found[4], found.get(5, b"").decode())


def svids(message: bytes) -> list[Svid]:
    return [texts(dict(fields(content))) for number, content in fields(message) if number == 1]


def by_domain(message: bytes, number: int) -> dict[str, bytes]:
    """A map of trust domains to bundles."""
    entries = [dict(fields(content)) for n, content in fields(message) if n == number]
    assert len({e[1] for e in entries}) == len(entries)
    return {e[1].decode(): e[2] for e in entries}


# --- the targets

class Double:
    """The double, given what an entry would say."""

    def __init__(self, home: pathlib.Path, foreign: Authority):
        self.ca, self.foreign = Authority(home / "pki"), foreign
        self.agent = Agent(home / "agent.sock").start()
        self.socket, self._made, self._ids, self._federated = self.agent.socket, 0, (OURS,), False
        self.start_agent, self.stop_agent, self.stop, self.forget = self.agent.start, self.agent.stop, self.agent.stop, self.agent.forget

    def register(self, *ids: str, federated: bool = False, short: bool = False) -> None:
        self._ids, self._federated = ids, federated
        self.renew()

    def renew(self) -> None:
        self._made += 1
        made = [svid(self.ca, f"c{self._made}", spiffe_id) for spiffe_id in self._ids]
        self.agent.give(response(made, {FOREIGN: der(self.foreign.certificate)} if self._federated else {}))

    def trust(self, foreign: Authority) -> None:
        self.foreign = foreign
        self.renew()


class Real:
    def __init__(self, home: pathlib.Path, foreign: Authority):
        self.spire = Spire(home)
        try:
            self.spire.start()
            self.spire.trust(FOREIGN, foreign.certificate)
        except BaseException:
            self.stop()
            raise
        self.socket, self.stop_agent, self.start_agent = self.spire.socket, self.spire.stop_agent, self.spire.start_agent

    def stop(self) -> None:
        self.spire.stop()

    def register(self, *ids: str, federated: bool = False, short: bool = False) -> None:
        for spiffe_id in ids:
            self.spire.register(spiffe_id, 10 if short else 3600, *(("-federatesWith", FOREIGN) if federated else ()))

    def renew(self) -> None:
        """It does so by itself."""

    def trust(self, foreign: Authority) -> None:
        self.spire.trust(FOREIGN, foreign.certificate)

    def forget(self) -> None:
        self.spire.forget()


def asked(socket: pathlib.Path) -> list[Svid]:
    with Stream(socket) as stream:
        try:
            return stream.svids()
        except grpc.RpcError as e:
            assert (e.code(), e.details()) == NOBODY
            return []


@pytest.fixture(scope="module", params=["double", pytest.param("real", marks=real_spire)])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double | Real]:
    home = tmp_path_factory.mktemp("w")
    foreign = Authority(home / "foreign", "foreign")
    with contextlib.closing(contextlib.ExitStack()) as stack:
        target = (Double if request.param == "double" else Real)(home, foreign)
        stack.callback(target.stop)
        yield target


@pytest.fixture
def target(made: Double | Real, tmp_path: pathlib.Path) -> Iterator[Double | Real]:
    """Nobody is registered."""
    yield made
    made.forget()
    wait_until(lambda: not asked(made.socket), PATIENCE_S, "an agent that knows nobody", 0.1)


# --- what there is in DER

def der_items(content: bytes) -> list[bytes]:
    out, at = [], 0
    while at < len(content):
        assert content[at] == 0x30, "a SEQUENCE"
        length, head = content[at + 1], 2
        if length > 0x80:
            head += length & 0x7F
            length = int.from_bytes(content[at + 2:at + head], "big")
        out.append(content[at:at + head + length])
        at += head + length
    assert b"".join(out) == content
    return out


def openssl(content: bytes, *arguments: str) -> str:
    done = subprocess.run(["openssl", *arguments], input=content, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def check(found: Svid, home: pathlib.Path) -> None:
    """What docs/spiffe.md says of an SVID holds for this one, and its bundle verifies it."""
    leaf, *between = der_items(found.chain)
    shown = openssl(leaf, "x509", "-inform", "DER", "-noout", "-ext", "subjectAltName,basicConstraints,keyUsage,extendedKeyUsage")
    assert f"URI:{found.spiffe_id}\n" in shown.replace(", ", "\n") and shown.count("URI:") == 1
    assert "CA:FALSE" in shown and "Digital Signature" in shown and "Certificate Sign" not in shown
    assert "TLS Web Server Authentication, TLS Web Client Authentication" in shown
    assert openssl(found.key, "pkcs8", "-nocrypt", "-inform", "DER").startswith("-----BEGIN PRIVATE KEY")
    assert openssl(found.key, "pkey", "-inform", "DER", "-pubout") == openssl(leaf, "x509", "-inform", "DER", "-noout", "-pubkey")
    for name, certificates in (("bundle", der_items(found.bundle)), ("between", between)):
        (home / name).write_text("".join(map(ssl.DER_cert_to_PEM_cert, certificates)))
    more = ["-untrusted", str(home / "between")] if between else []
    openssl(ssl.DER_cert_to_PEM_cert(leaf).encode(), "verify", "-CAfile", str(home / "bundle"), *more)


# --- what is asked

@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metadata", [(), (("workload.spiffe.io", "false"),), (("workload.spiffe.io", "True"),), (HEADER, HEADER)], ids=str)
def test_security_header(target: Double | Real, method: str, metadata: tuple[tuple[str, str], ...]) -> None:
    """Asked for before anything else: nobody is registered here."""
    with Stream(target.socket, method, metadata) as stream:
        assert stream.end() == (grpc.StatusCode.INVALID_ARGUMENT, "security header missing from request")


@pytest.mark.parametrize("method", METHODS)
def test_nobody_is_registered(target: Double | Real, method: str) -> None:
    with Stream(target.socket, method) as stream:
        assert stream.end() == NOBODY


def test_method_that_there_is_not(target: Double | Real) -> None:
    with Stream(target.socket, "FetchNothing") as stream:
        assert stream.end()[0] is grpc.StatusCode.UNIMPLEMENTED


def test_first_message_is_the_whole_identity(target: Double | Real, tmp_path: pathlib.Path) -> None:
    target.register(OURS)
    with Stream(target.socket) as stream:
        message = stream.message()
    assert [number for number, _ in fields(message)] == [1]
    (found,) = svids(message)
    assert found.spiffe_id == OURS and found.hint == ""
    check(found, tmp_path)


def test_fields_of_a_request_that_nobody_knows(target: Double | Real) -> None:
    target.register(OURS)
    with Stream(target.socket, request=b"\x0a\x01x") as stream:
        assert [s.spiffe_id for s in stream.svids()] == [OURS]


def test_two_identities_in_one_message(target: Double | Real, tmp_path: pathlib.Path) -> None:
    target.register(OURS, OTHER)
    with Stream(target.socket) as stream:
        found = stream.svids()
    assert {s.spiffe_id for s in found} == {OURS, OTHER} and len({s.key for s in found}) == 2
    for one in found:
        check(one, tmp_path)


def test_federated_bundles(target: Double | Real) -> None:
    target.register(OURS, federated=True)
    with Stream(target.socket) as stream, Stream(target.socket, METHODS[1]) as others:
        message, bundles = stream.message(), by_domain(others.message(), 2)
    (found,) = svids(message)
    federated = by_domain(message, 3)
    assert set(federated) == {FOREIGN}
    assert bundles == {DOMAIN: found.bundle, **federated}
    assert "CN=foreign" in openssl(federated[FOREIGN], "x509", "-inform", "DER", "-noout", "-subject").replace(" ", "")


def test_bundles_without_a_federated_one(target: Double | Real) -> None:
    target.register(OURS)
    with Stream(target.socket) as stream, Stream(target.socket, METHODS[1]) as others:
        assert by_domain(others.message(), 2) == {DOMAIN: stream.svids()[0].bundle}


def test_changed_bundle_is_a_further_message(target: Double | Real, tmp_path: pathlib.Path) -> None:
    target.register(OURS, federated=True)
    new = Authority(tmp_path / "new", "renewed")
    with Stream(target.socket) as stream, Stream(target.socket, METHODS[1]) as others:
        stream.message(), others.message()
        target.trust(new)
        message = stream.message()
        assert svids(message)[0].spiffe_id == OURS and by_domain(message, 3) == {FOREIGN: der(new.certificate)}
        assert by_domain(others.message(), 2)[FOREIGN] == der(new.certificate)


def test_rotation_is_a_further_message(target: Double | Real, tmp_path: pathlib.Path) -> None:
    """Of the same form, with another certificate and another key; it comes while the one before is good still."""
    target.register(OURS, short=True)
    with Stream(target.socket) as stream:
        found = stream.svids()
        for _ in range(2):
            target.renew()
            found += stream.svids()
            check(found[-2], tmp_path)
    assert [s.spiffe_id for s in found] == [OURS] * 3
    assert len({s.chain for s in found}) == len({s.key for s in found}) == 3 and len({s.bundle for s in found}) == 1
    check(found[-1], tmp_path)


def test_entry_that_goes_ends_the_stream(target: Double | Real) -> None:
    target.register(OURS)
    with Stream(target.socket) as stream, Stream(target.socket, METHODS[1]) as others:
        stream.message(), others.message()
        target.forget()
        assert stream.end() == NOBODY
        assert others.end() == NOBODY


def test_agent_that_ends_and_comes_back(target: Double | Real) -> None:
    target.register(OURS)
    with Stream(target.socket) as stream:
        stream.message()
        target.stop_agent()
        assert stream.end()[0] is grpc.StatusCode.UNAVAILABLE
    with Stream(target.socket) as stream:
        assert stream.end()[0] is grpc.StatusCode.UNAVAILABLE
    target.start_agent()
    wait_until(lambda: [s.spiffe_id for s in asked(target.socket)] == [OURS], PATIENCE_S, "the identity again", 0.1)
