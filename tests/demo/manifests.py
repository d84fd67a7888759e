"""The manifests that the demo writes and edits: one file for each Node, one for the Service, one for the EndpointSlice."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping

from tests.harness.objects import NAMESPACE, SERVICE

SERVICE_FILE = "service.yaml"
SLICE_FILE = "endpointslice.yaml"

_NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}
status:
  addresses:
  - {{type: InternalIP, address: {address}}}
  conditions:
  - {{type: Ready, status: "True", lastHeartbeatTime: "{heartbeat}"}}
"""

_SERVICE = f"""\
# The daemon takes the port of HAProxy's servers from here.
apiVersion: v1
kind: Service
metadata:
  name: {SERVICE}
  namespace: {NAMESPACE}
  # Without the # the daemon writes nothing for this Service and shows what would change.
  # annotations: {{{{haproxy-k8s-sync/paused: "true"}}}}
spec:
  type: NodePort
  externalTrafficPolicy: Local
  ports:
  - {{{{name: http, protocol: TCP, port: 80, targetPort: 8080, nodePort: {{node_port}}}}}}
"""

_SLICE = f"""\
# Which pods are behind the Service {NAMESPACE}/{SERVICE}, and on which nodes.
# A node serves as long as one of its pods is ready here.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: {SERVICE}-1
  namespace: {NAMESPACE}
  labels: {{kubernetes.io/service-name: {SERVICE}}}
addressType: IPv4
ports:
- {{name: http, protocol: TCP, port: 8080}}
endpoints:
"""

_ENDPOINT = """\
- nodeName: {node}
  addresses: [{address}]
  conditions: {{ready: {ready}, serving: true, terminating: {terminating}}}
"""


class Manifests:
    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        directory.mkdir()

    def node(self, name: str, address: str, heartbeat: str = "2026-01-01T00:00:00Z") -> pathlib.Path:
        return self._write(f"{name}.yaml", _NODE.format(name=name, address=address, heartbeat=heartbeat))

    def service(self, node_port: int) -> pathlib.Path:
        return self._write(SERVICE_FILE, _SERVICE.format(node_port=node_port))

    def endpoints(self, ready: Mapping[str, bool]) -> pathlib.Path:
        """One pod on each of these nodes; one that is not ready is on its way out."""
        text = _SLICE + "".join(
            _ENDPOINT.format(node=node, address=pod_address(node), ready=str(is_ready).lower(),
                             terminating=str(not is_ready).lower())
            for node, is_ready in ready.items())
        return self._write(SLICE_FILE, text)

    def _write(self, name: str, text: str) -> pathlib.Path:
        return replaced(self.directory / name, text)


def replaced(path: pathlib.Path, text: str) -> pathlib.Path:
    """At one stroke, as a careful editor does it; a reader of the folder passes the draft over, by its dot."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    os.replace(draft, path)
    return path


def pod_address(node: str) -> str:
    return f"10.244.{node.rpartition('-')[2]}.7"
