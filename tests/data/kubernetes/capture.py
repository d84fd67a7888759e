"""Records this folder again from a real kube-apiserver: `/usr/bin/python3 -m tests.data.kubernetes.capture` in the root.

The objects are the odd ones that the rules of decoding are about; bodies are stored as received, byte for byte. With an
argument (`lists`, `services`, `both`) only that part, on a server of its own.
"""

from __future__ import annotations

import http.client
import json
import pathlib
import ssl
import sys
import tempfile

from tests.harness import objects, realkube, realparts

HERE = pathlib.Path(__file__).parent
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{objects.NAMESPACE}/endpointslices"
STREAMING = ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=&allowWatchBookmarks=true"
             "&timeoutSeconds=2")
TEXT = 'a "quote", a \\ back\\slash, {[}], "items":[1], a tab\t, \u2028, \u00fc, \U0001f40b, <html>&'


def nodes() -> list[objects.Object]:
    made = [
        objects.node("dual", "10.20.0.1", "2001:db8::1"),
        objects.node("external-first", addresses=[("ExternalIP", "198.51.100.7")]),
        objects.node("no-address"),
        objects.node("six-first", "2001:db8::2", "10.20.0.2"),
    ]
    made[1]["status"]["addresses"] = [{"type": "ExternalIP", "address": "198.51.100.7"},
                                      {"type": "InternalDNS", "address": "external-first.example.com"},
                                      {"type": "InternalIP", "address": "10.20.0.3"}]
    made[2]["status"]["addresses"] = []
    made[3]["metadata"]["annotations"] = {"example.com/text": TEXT}
    return made


def slices() -> list[objects.Object]:
    plain = [objects.endpoint("10.244.0.1", "dual"),
             objects.endpoint("10.244.0.2", "six-first", objects.TERMINATING),
             objects.endpoint("10.244.0.3", conditions=None),
             objects.endpoint("10.244.0.4", "no-address", {"ready": False})]
    plain[0]["addresses"] = ["10.244.0.1", "10.244.0.9"]
    odd_ports = [objects.port(8443), objects.port(8080, "http"), objects.port(53, "dns", "UDP"), objects.port(None, "any")]
    return [
        objects.slice_("four", objects.SERVICE, plain, ports=odd_ports),
        objects.slice_("six", objects.SERVICE, [objects.endpoint("2001:db8::5", "six-first")], address_type="IPv6"),
        objects.slice_("named", objects.SERVICE, [objects.endpoint("host.example.com")], address_type="FQDN"),
        objects.slice_("no-ports", objects.SERVICE, [objects.endpoint("10.244.0.7", "dual")], ports=[]),
        objects.slice_("nothing", objects.SERVICE, []),
    ]


def endpoints() -> objects.Object:
    made = objects.endpoints(objects.SERVICE, [("10.244.0.1", "dual"), ("10.244.0.5", None)], [("10.244.0.2", "six-first")])
    made["subsets"].append({"addresses": [{"ip": "10.244.0.8", "nodeName": "dual", "targetRef": {
        "kind": "Pod", "namespace": objects.NAMESPACE, "name": "web-1"}}],
        "ports": [{"name": "https", "port": 9443}, {"name": "dns", "port": 53, "protocol": "UDP"}]})
    return made


def signs() -> list[objects.Object]:
    """Nodes with what may keep them from serving, by a label that a selector can match."""
    exclude = "node.kubernetes.io/exclude-from-external-load-balancers"
    made = [
        objects.node("cordoned", "10.20.1.1", ready=False, unschedulable=True),
        objects.node("deleting", "10.20.1.2"),
        objects.node("excluded", "10.20.1.3", labels={exclude: ""}),
        objects.node("not-excluded", "10.20.1.4", labels={exclude: "false"}),
        objects.node("to-be-deleted", "10.20.1.5", taints=[("ToBeDeletedByClusterAutoscaler", "NoSchedule")]),
    ]
    for node in made:
        node["metadata"]["labels"]["example.com/signs"] = ""
    made[1]["metadata"]["finalizers"] = ["example.com/hold"]  # so that it stays for a while once it is deleted
    return made


def services() -> list[objects.Object]:
    made = [objects.service("balanced", type_="LoadBalancer", policy="Local", health_check_node_port=32000,
                            annotations={"haproxy-k8s-sync/paused": "true"}),
            objects.service("elsewhere", type_="ExternalName", node_ports={}),
            objects.service("inside", type_="ClusterIP", node_ports={"http": (80, 0)}),
            objects.service("two", node_ports={"http": (80, 30080), "https": (443, 30444)})]
    made[1]["spec"]["externalName"] = "web.example.com"
    made[2]["spec"]["clusterIP"] = "None"
    made[3]["spec"]["ports"].append({"name": "quic", "port": 443, "nodePort": 30444, "protocol": "UDP"})
    return made


class Recorder:
    def __init__(self, kube: realkube.RealKube):
        self.port = kube.port
        self.tls = ssl.create_default_context(cafile=str(kube.ca))

    def get(self, path: str, token: str = realkube.ADMIN_TOKEN, accept: str = "application/json") -> bytes:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=30)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": accept})
        body = connection.getresponse().read()
        connection.close()
        return body

    def save(self, name: str, path: str, token: str = realkube.ADMIN_TOKEN) -> bytes:
        body = self.get(path, token)
        (HERE / name).write_bytes(body)
        print(f"{name}: {len(body)} bytes of {path}")
        return body


def put_all(admin: realkube.Client, made: list[objects.Object]) -> None:
    admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.NAMESPACE}})
    for obj in made:
        admin.put(obj)
        if obj["kind"] == "Node":  # a create drops the status
            admin.put(obj)


def record_lists(kube: realkube.RealKube) -> None:
    admin, to = kube.admin, Recorder(kube)
    put_all(admin, [*nodes(), *slices(), endpoints()])
    to.save("nodes-list.json", "/api/v1/nodes")
    to.save("slices-list.json", SLICES)
    to.save("endpoints-list.json", f"/api/v1/namespaces/{objects.NAMESPACE}/endpoints")
    to.save("empty-list.json", "/api/v1/namespaces/nowhere/endpoints")
    page = to.save("nodes-page1.json", "/api/v1/nodes?limit=3")
    token = page.split(b'"continue":"')[1].split(b'"')[0].decode()
    to.save("nodes-page2.json", f"/api/v1/nodes?limit=3&continue={token}")
    version = to.get(SLICES).split(b'"resourceVersion":"')[1].split(b'"')[0].decode()
    to.save("slices-streaming-list.jsonl", f"{SLICES}?{STREAMING}")
    admin.patch("EndpointSlice", "six", {"endpoints": [objects.endpoint("2001:db8::6", "six-first")]}, objects.NAMESPACE)
    admin.delete("EndpointSlice", "nothing", objects.NAMESPACE)
    to.save("slices-watch.jsonl", f"{SLICES}?watch=1&resourceVersion={version}&timeoutSeconds=2")
    to.save("too-large-version.json", f"{SLICES}?resourceVersion=99999999")
    to.save("forbidden.json", "/api/v1/nodes", realkube.DAEMON_TOKEN)
    kube.stop_apiserver()  # a new one's watch cache begins now, so that an old version has expired
    kube.start_apiserver()
    to.save("watch-expired.jsonl", f"{SLICES}?watch=1&resourceVersion=1&timeoutSeconds=2")


def record_services(kube: realkube.RealKube) -> None:
    admin, to = kube.admin, Recorder(kube)
    put_all(admin, [*signs(), *services()])
    admin.delete("Node", "deleting")
    to.save("nodes-signs.json", "/api/v1/nodes?labelSelector=example.com/signs")
    path = f"/api/v1/namespaces/{objects.NAMESPACE}/services"
    version = to.save("services-list.json", path).split(b'"resourceVersion":"')[1].split(b'"')[0].decode()
    admin.patch("Service", "two", {"metadata": {"annotations": {"haproxy-k8s-sync/paused": "True"}}}, objects.NAMESPACE)
    admin.patch("Service", "inside", {"spec": {"ports": [{"name": "http", "port": 81}]}}, objects.NAMESPACE)
    admin.patch("Service", "two", {"spec": {"externalTrafficPolicy": "Local"},
                                   "metadata": {"annotations": {"haproxy-k8s-sync/paused": None}}}, objects.NAMESPACE)
    admin.delete("Service", "two", objects.NAMESPACE)
    to.save("services-watch.jsonl", f"{path}?watch=1&fieldSelector=metadata.name%3Dtwo&resourceVersion={version}&timeoutSeconds=2")


def record_both(kube: realkube.RealKube) -> None:
    """The same answers in JSON and in protobuf: NAME.json and NAME.pb."""
    admin, to = kube.admin, Recorder(kube)
    (HERE / "both").mkdir(exist_ok=True)
    put_all(admin, [*nodes(), *signs()])
    made = [*slices(), endpoints(), *services(), objects.lease("held", "pod-1", transitions=3), objects.lease("free")]
    core = f"/api/v1/namespaces/{objects.NAMESPACE}"
    paths = {"nodes": "/api/v1/nodes", "slices": SLICES, "endpoints": f"{core}/endpoints", "services": f"{core}/services",
             "leases": f"/apis/coordination.k8s.io/v1/namespaces/{objects.NAMESPACE}/leases"}
    versions = {name: json.loads(to.get(path))["metadata"]["resourceVersion"] for name, path in paths.items()}
    for obj in made:
        admin.put(obj)
    admin.patch("Node", "dual", {"metadata": {"labels": {"example.com/new": ""}, "annotations": {"example.com/text": TEXT}}})
    admin.delete("Node", "cordoned")
    admin.delete("Node", "deleting")
    admin.patch("EndpointSlice", "six", {"endpoints": [objects.endpoint("2001:db8::6", "six-first", zone="z1")]}, objects.NAMESPACE)
    admin.delete("Service", "two", objects.NAMESPACE)
    admin.delete("Lease", "free", objects.NAMESPACE)
    asked = {"slices-streaming": f"{SLICES}?{STREAMING}", "status": f"{SLICES}?resourceVersion=99999999"}
    for name, path in paths.items():
        asked |= {name: path, f"{name}-watch": f"{path}?watch=1&resourceVersion={versions[name]}&timeoutSeconds=2"}
    for name, path in asked.items():
        before, after, protobuf = b"", to.get(path), b""
        while before != after:  # the server's own objects move the version of a list
            before = after
            protobuf, after = to.get(path, accept="application/vnd.kubernetes.protobuf,application/json"), to.get(path)
        (HERE / "both" / f"{name}.json").write_bytes(after)
        (HERE / "both" / f"{name}.pb").write_bytes(protobuf)


PARTS = {"lists": record_lists, "services": record_services, "both": record_both}


def main() -> None:
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as home:
            with realkube.RealKube(pathlib.Path(home), realparts.kube_apiserver(), realparts.etcd()) as kube:
                PARTS[part](kube)


if __name__ == "__main__":
    main()
