"""The chart's NetworkPolicy: what the settings need is let through, and nothing beside. Whether a network plugin does as it says is
not tried here: there is none."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from .chart.helm import Document, only, render

ANYWHERE: list[str] = []
ALWAYS = [("TCP", 443, ANYWHERE), ("TCP", 6443, ANYWHERE)]
DNS = [("UDP", 53, ANYWHERE), ("TCP", 53, ANYWHERE)]

Egress = list[tuple[str, int, list[str]]]


def policy(helm: pathlib.Path, urls: Any = "", **more: Any) -> Document:
    values = {"networkPolicy": {"enabled": True, **more}, "env": {"haproxy": {"dataplaneURL": urls}}}
    return only(render(helm, values, release="lb", namespace="edge"), "NetworkPolicy")


def egress(found: Document) -> Egress:
    """(protocol, port, blocks of addresses) of each thing that is let out."""
    return [(port["protocol"], port["port"], [peer["ipBlock"]["cidr"] for peer in rule.get("to", [])])
            for rule in found["spec"]["egress"] for port in rule["ports"]]


@pytest.mark.parametrize("urls, targets", [
    ("", [("TCP", 5555, ANYWHERE)]),
    ("http://192.0.2.7:5555", [("TCP", 5555, ["192.0.2.7/32"])]),
    ("https://haproxy.example.com", [("TCP", 443, ANYWHERE)]),
    ("http://haproxy/behind/a/proxy", [("TCP", 80, ANYWHERE)]),
    ("https://[2001:db8::5]:5556", [("TCP", 5556, ["2001:db8::5/128"])]),
    ("https://[2001:db8::5]", [("TCP", 443, ["2001:db8::5/128"])]),
    ("unix:/run/dataplane.sock", []),
    ("http://a:5555, https://b:5556\nhttp://192.0.2.7:5557", [("TCP", 5555, ANYWHERE), ("TCP", 5556, ANYWHERE),
                                                             ("TCP", 5557, ["192.0.2.7/32"])]),
    (["http://a:5555", "http://b:5555", "http://192.0.2.8:5555"], [("TCP", 5555, ANYWHERE), ("TCP", 5555, ["192.0.2.8/32"])]),
])
def test_what_the_urls_need(helm: pathlib.Path, urls: Any, targets: Egress) -> None:
    found = policy(helm, urls)
    assert egress(found) == ALWAYS + DNS + targets
    assert found["spec"]["policyTypes"] == ["Ingress", "Egress"]


@pytest.mark.parametrize("to, peers", [({}, [ANYWHERE, ["192.0.2.9/32"]]), ({"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}, [["192.0.2.0/24"]] * 2)])
def test_what_is_published_goes_to_etcd_alone(helm: pathlib.Path, to: Document, peers: list[list[str]]) -> None:
    values = {"networkPolicy": {"enabled": True, "etcd": to, "dataplane": {"to": [{"ipBlock": {"cidr": "192.0.2.77/32"}}]}},
              "config": {"source": "services", "target": "etcd"}, "etcd": {"endpoints": ["https://etcd:2379", "https://192.0.2.9:2380"]}}
    assert egress(only(render(helm, values), "NetworkPolicy")) == [*ALWAYS, *DNS, ("TCP", 2379, peers[0]), ("TCP", 2380, peers[1])]


def test_it_is_of_these_pods_alone(helm: pathlib.Path) -> None:
    documents = render(helm, {"networkPolicy": {"enabled": True}}, release="lb", namespace="edge")
    found, deployment = only(documents, "NetworkPolicy"), only(documents, "Deployment")
    wanted = found["spec"]["podSelector"]["matchLabels"]
    assert wanted and wanted == deployment["spec"]["selector"]["matchLabels"]
    ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert found["spec"]["ingress"] == [{"ports": [{"port": port["name"], "protocol": "TCP"} for port in ports]}]


def test_everything_can_be_narrowed(helm: pathlib.Path) -> None:
    def block(cidr: str) -> list[Document]:
        return [{"ipBlock": {"cidr": cidr}}]

    monitoring = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    more = {"ports": [{"port": 3128, "protocol": "TCP"}], "to": block("192.0.2.50/32")}
    found = policy(helm, "https://haproxy:5555", ingress={"from": monitoring}, kubernetesAPI={"ports": [6443], "to": block("192.0.2.1/32")},
                   dns={"ports": [5353], "to": block("192.0.2.2/32")}, dataplane={"to": block("192.0.2.0/24")}, extraEgress=[more],
                   extraIngress=[{"from": monitoring}])
    assert egress(found) == [("TCP", 6443, ["192.0.2.1/32"]), ("UDP", 5353, ["192.0.2.2/32"]), ("TCP", 5353, ["192.0.2.2/32"]),
                             ("TCP", 5555, ["192.0.2.0/24"]), ("TCP", 3128, ["192.0.2.50/32"])]
    assert found["spec"]["ingress"][0]["from"] == monitoring and found["spec"]["ingress"][1] == {"from": monitoring}
    assert egress(policy(helm, "http://192.0.2.7:5555", dns={"enabled": False})) == [*ALWAYS, ("TCP", 5555, ["192.0.2.7/32"])]
