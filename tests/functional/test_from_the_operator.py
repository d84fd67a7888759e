"""The command line and environment of an operator for a haproxy.cfg in a Secret, as its Deployment has them: with another image they go on."""

from __future__ import annotations

import pathlib
import re
import shutil
import time

from tests.harness import http
from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon
from tests.harness.process import free_port

from .rig import AUTH, Rig, program
from .test_config_report import events, wait_notes
from .test_config_secret import NAME, NAMESPACE, Site, certificate_of, secret

DAY = 86400


def test_its_deployment(tmp_path: pathlib.Path) -> None:
    ca, people = Authority(tmp_path / "pki"), Authority(tmp_path / "people", "people")
    mounted = tmp_path / "tls"
    mounted.mkdir()
    client = people.client("operator")
    for source, name in ((ca.certificate, "ca.crt"), (client.certificate, "tls.crt"), (client.key, "tls.key")):
        shutil.copy(source, mounted / name)
    metrics, probes = free_port(), free_port()
    user, password = AUTH.split(":")
    with Rig(tmp_path) as rig:
        site = Site(rig)
        rig.dataplane.stop()
        rig.dataplane.serve_tls(ca.server(), people.certificate, people.client("harness"))
        rig.dataplane.start()
        rig.kube.put(secret(site.text()), certificate_of(ca.server(), "shop-tls"))
        rig.daemon = Daemon(tmp_path / "daemon", {"KUBECONFIG": str(rig.kube.kubeconfig(tmp_path / "kubeconfig")), "DATAPLANE_USERNAME": user,
                                                  "DATAPLANE_PASSWORD": password}, program())
        rig.daemon.flags = [
            "--mode=k8s", f"--namespace={NAMESPACE}", f"--secret-name={NAME}", "--secret-key=haproxy.cfg", "--certs-secret-names=shop-tls",
            f"--dataplane-url={rig.dataplane.url}/v3", f"--dataplane-ca-cert={mounted}/ca.crt", f"--dataplane-client-cert={mounted}/tls.crt",
            f"--dataplane-client-key={mounted}/tls.key", "--leader-elect=true", f"--metrics-bind-address=127.0.0.1:{metrics}",
            f"--health-probe-bind-address=127.0.0.1:{probes}"]
        rig.daemon.start()
        site.applied("roundrobin")
        wait_notes(site, status="Applied")
        assert [reason for _, reason in events(site)] == ["CertSynced", "ValidationPassed", "ApplySucceeded"]
        assert [i["metadata"]["name"] for i in rig.kube.state()["items"] if i["kind"] == "Lease"] == ["haproxy-operator.tlu.bcit.ca"]
        for path in ("/healthz", "/readyz"):
            assert http.request(f"http://127.0.0.1:{probes}", "GET", path).status == 200
        page = http.request(f"http://127.0.0.1:{metrics}", "GET", "/metrics").text
        ends = dict(re.findall(r"^haproxy_operator_dataplane_(\w+)_cert_expiry_timestamp_seconds(?:\{gateway=\"127\.0\.0\.1\"\})? (\d+)$", page, re.M))
        assert ends.keys() == {"server", "client"} and all(time.time() < int(end) < time.time() + 3 * DAY for end in ends.values())
        assert f'haproxy_operator_config_in_sync{{secret="{NAMESPACE}/{NAME}"}} 1\n' in page
