"""Files that the pages show or name, each by the program that reads it."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
from typing import Any

import yaml

from tests.harness.certificates import Authority
from tests.harness.daemon import check_env, program
from tests.harness.kube import write_kubeconfig

from .docs_blocks import ROOT
from .docs_commands import Wrong

# The keys of dataplaneapi.yml that the real thing reads; the same in 3.0, 3.3 and 3.4.
DATAPLANE_KEYS: dict[str, Any] = {
    "config_version": int, "name": str,
    "dataplaneapi": {
        "scheme": list, "host": str, "port": int, "userlist": {"userlist": str, "userlist_file": str},
        "tls": {"tls_host": str, "tls_port": int, "tls_certificate": str, "tls_key": str, "tls_ca": str},
        "transaction": {"transaction_dir": str, "backups_number": int, "backups_dir": str, "max_open_transactions": int},
        "resources": {"maps_dir": str, "ssl_certs_dir": str, "general_storage_dir": str, "spoe_dir": str, "spoe_transaction_dir": str,
                      "dataplane_storage_dir": str}},
    "haproxy": {
        "config_file": str, "haproxy_bin": str, "master_worker_mode": bool, "master_runtime": str,
        "reload": {"reload_delay": int, "reload_cmd": str, "restart_cmd": str, "status_cmd": str, "reload_strategy": str,
                   "service_name": str, "validate_cmd": str}},
    "log_targets": list,
}

# What of the GitOps tools' objects the examples use, from their definitions; by kind, which with its version is checked, too.
GITOPS_KEYS: dict[str, Any] = {
    "kustomize.toolkit.fluxcd.io/v1 Kustomization": {"interval": str, "path": str, "prune": bool, "sourceRef": {"kind": str, "name": str}},
    "argoproj.io/v1alpha1 Application": {
        "project": str, "source": {"repoURL": str, "targetRevision": str, "path": str}, "destination": {"server": str, "namespace": str},
        "syncPolicy": {"automated": {"selfHeal": bool, "prune": bool}}}}


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would take the last."""


def _mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    doubled = {key for key in keys if keys.count(key) > 1}
    if doubled:
        raise Wrong(f"keys that stand twice: {doubled}")
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def load_yaml(text: str) -> list[Any]:
    try:
        return [document for document in yaml.load_all(text, Loader=StrictLoader) if document is not None]
    except yaml.YAMLError as e:
        raise Wrong(f"no YAML: {e}") from e


def ran(*words: object, **more: Any) -> tuple[int, str]:
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=300, **more)
    return done.returncode, done.stdout


def must(*words: object, **more: Any) -> str:
    status, said = ran(*words, **more)
    if status != 0:
        raise Wrong(f"{words[0]}: exit {status}\n{said}")
    return said


# --- one function for each kind of file


def haproxy_cfg(path: pathlib.Path, binary: str) -> None:
    """The file as it is; a warning is as bad as an error."""
    said = must(binary, "-c", "-f", path)
    if said.strip() not in ("", "Configuration file is valid"):
        raise Wrong(f"{binary} -c: {said}")


def known_keys(given: Any, known: Any, at: str, reader: str) -> None:
    if isinstance(known, type):
        if not isinstance(given, known):
            raise Wrong(f"{at} is {given!r}, not of type {known.__name__}")
        return
    if not isinstance(given, dict):
        raise Wrong(f"{at} is {given!r}, not a mapping")
    for key, value in given.items():
        if key not in known:
            raise Wrong(f"{reader} reads no {at}{'.' if at else ''}{key}")
        known_keys(value, known[key], f"{at}{'.' if at else ''}{key}", reader)


def dataplane_yml(text: str) -> None:
    known_keys(load_yaml(text)[0], DATAPLANE_KEYS, "", "the Data Plane API")


def gitops_yaml(text: str) -> None:
    for document in load_yaml(text):
        kind = f"{document.get('apiVersion')} {document.get('kind')}"
        if kind not in GITOPS_KEYS:
            raise Wrong(f"there is no {kind}")
        known_keys(document, {"apiVersion": str, "kind": str, "metadata": {"name": str, "namespace": str}, "spec": GITOPS_KEYS[kind]}, "", kind)
        if missing := GITOPS_KEYS[kind].keys() - document["spec"].keys():
            raise Wrong(f"{kind} lacks {missing}")


def keepalived_conf(path: pathlib.Path, directory: pathlib.Path) -> None:
    """Whether or not this machine has an eth0."""
    binary = shutil.which("keepalived", path="/usr/sbin:/usr/bin:/sbin")
    if not binary:
        raise Wrong("no keepalived here (Debian's package keepalived): scripts/deps delivery")
    copy = directory / path.name
    copy.write_text(path.read_text().replace("global_defs {", "global_defs {\n    dynamic_interfaces", 1))
    # It ends a test that went well by signalling itself, so it gets a session of its own; what it has against a file, it prints.
    status, said = ran(binary, "--config-test", "--use-file", copy, start_new_session=True)
    complaints = [line for line in said.splitlines() if str(copy) in line or re.search("warning|error|invalid|exist", line, re.I)]
    if complaints or status not in (0, 143, -15):
        raise Wrong(f"keepalived: exit {status}\n{said}")


def systemd_unit(path: pathlib.Path, directory: pathlib.Path) -> None:
    """The program that it starts need not be here."""
    if not shutil.which("systemd-analyze"):
        raise Wrong("no systemd-analyze here (Debian's package systemd): scripts/deps delivery")
    copy = directory / path.name
    copy.write_text(re.sub(r"^(ExecStart=)/usr/local/bin/\S+", r"\g<1>/bin/true", path.read_text(), flags=re.M))
    said = must("systemd-analyze", "verify", "--man=no", copy)
    complaints = [line for line in said.splitlines() if copy.name in line]
    if complaints:
        raise Wrong("\n".join(complaints))


def shell_script(path: pathlib.Path) -> None:
    must("shellcheck", path)
    if not os.access(path, os.X_OK):
        raise Wrong(f"{path} cannot be executed")


def prometheus_yml(text: str, directory: pathlib.Path) -> None:
    config = load_yaml(text)[0]
    for name in config.get("rule_files", []):
        if pathlib.Path(name).name != "haproxy-k8s-sync.yaml":
            raise Wrong(f"which rule file is {name}?")
    config["rule_files"] = [str(ROOT / "charts/haproxy-k8s-sync/alerts/haproxy-k8s-sync.yaml")]
    path = directory / "prometheus.yml"
    path.write_text(yaml.safe_dump(config))
    must("promtool", "check", "config", path)


def manifest(text: str) -> None:
    """Of plain kinds, whose fields are few enough to be known here."""
    known = {"Secret": {"apiVersion", "kind", "metadata", "type", "data", "stringData"}}
    for document in load_yaml(text):
        fields = known.get(document.get("kind"))
        if fields is None or document["apiVersion"] != "v1" or set(document) - fields or "name" not in document["metadata"]:
            raise Wrong(f"{document.get('apiVersion')} {document.get('kind')} with {sorted(document)}")


def annotated_service(text: str) -> None:
    """A Service with the default label, whose annotations are those of a port of it, each of the page's table of options."""
    page = (ROOT / "docs/services.md").read_text().partition("<!-- options -->")[2].partition("<!-- /options -->")[0]
    options = set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.M))
    for found in load_yaml(text):
        meta, ports = found["metadata"], {port["name"] for port in found["spec"]["ports"]}
        if (found["apiVersion"], found["kind"], found["spec"]["type"]) != ("v1", "Service", "NodePort"):
            raise Wrong(f"no NodePort Service: {found['kind']}")
        if meta["labels"].get("haproxy-kubefigurator.enabled") != "yes":
            raise Wrong("it has not the label of SERVICES_LABEL")
        for name in meta["annotations"]:
            prefix, port, option = name.split(".")
            if prefix != "haproxy-kubefigurator" or port not in ports or option not in options:
                raise Wrong(f"annotation {name}: ports {ports}, options {options}")


def pods_of_a_set(text: str, of_set: str, template: str) -> None:
    """A Deployment of HAProxies: the set finds its pods, and they are ready by what its template alone has."""
    deployment, targets = load_yaml(text)[0], load_yaml(of_set)[0]["targets"]
    pod = deployment["spec"]["template"]
    containers = {container["name"]: container for container in pod["spec"]["containers"]}
    probe = containers["haproxy"]["readinessProbe"]["httpGet"]
    right = [targets["labelSelector"]["matchLabels"] == pod["metadata"]["labels"] == deployment["spec"]["selector"]["matchLabels"],
             targets["namespace"] == deployment["metadata"]["namespace"],
             [targets["port"]] == [port["containerPort"] for port in containers["dataplaneapi"]["ports"]],
             f"    bind :{probe['port']}\n    monitor-uri {probe['path']}\n" in template]
    mounted = {mount["name"] for container in pod["spec"]["containers"] for mount in container["volumeMounts"]}
    if not all(right) or mounted != {volume["name"] for volume in pod["spec"]["volumes"]}:
        raise Wrong(f"the pods are not those of the set: {right}, {mounted}")


# --- what the daemon reads


class Settings:
    """The files that settings name, at another place than on a load balancer."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        ca = Authority(directory)
        pair = ca.client("tls")
        shutil.copy(pair.certificate, directory / "tls.crt") if pair.certificate.name != "tls.crt" else None
        write_kubeconfig(directory / "kubeconfig", "https://127.0.0.1:6443", ca=ca.certificate, token="t")
        (directory / "password").write_text("change-me\n")

    def check(self, text: str, **more: str) -> str:
        """An env file, as systemd reads it: check-config has nothing against it, not even a warning."""
        given = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
        env = {name: value.replace("/etc/haproxy-k8s-sync/", f"{self.directory}/") for name, value in {**more, **given}.items()}
        done = subprocess.run([program(), "check-config"], env=check_env(**env), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        # A part of an env file that names no HAProxy has the default URL.
        said = [line for line in done.stderr.splitlines() if 'HAPROXY_DATAPLANE_URL="http://haproxy:5555": the password' not in line]
        if done.returncode != 0 or said:
            raise Wrong(f"check-config: exit {done.returncode}\n{done.stderr}")
        return done.stdout


def unit_environment() -> dict[str, str]:
    """What our own unit sets before its env file, with the credentials where they are copied from."""
    unit = (ROOT / "deploy/systemd/haproxy-k8s-sync.service").read_text()
    return {name: value.replace("%d/secret_", "/etc/haproxy-k8s-sync/") for name, value in re.findall(r"^Environment=(\w+)=(.*)$", unit, re.M)}


class Tools:
    """What the rules for blocks and files need: a folder of their own, and programs that not every machine has."""

    def __init__(self, directory: pathlib.Path, helm: pathlib.Path, kubectl: pathlib.Path, own: Settings):
        self.directory, self.helm, self.kubectl, self.own = directory, helm, kubectl, own
