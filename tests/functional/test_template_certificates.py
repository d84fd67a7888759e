"""Certificates of templates: where they are stored, and that no name leads elsewhere."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from tests.harness.certificates import self_signed
from tests.harness.daemon import clean_env, quick_program
from tests.harness.haproxy import haproxy_binary

from .ingress_set import endpoint, haproxy_accepts, ingress, render, rule, secret
from .test_template_ingress_backends import web

CFG = """\
defaults
    mode http
    timeout client 1s
    timeout connect 1s
    timeout server 1s
frontend fe
    bind 127.0.0.1:8443 ssl crt {{ %s }}
"""
TESTS = "tests:\n  one: {assertions: [{type: haproxy_valid}]}\n"


def template(command: str, folder: pathlib.Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([quick_program(), "template", command, folder], capture_output=True, text=True, timeout=120, env={**clean_env(), **env})


def make_set(folder: pathlib.Path, where: str, pem: str = "") -> pathlib.Path:
    (folder / "certificates").mkdir(parents=True)
    (folder / "set.yaml").write_text(TESTS)
    (folder / "haproxy.cfg.j2").write_text(("{%- set pem %}" + pem + "{% endset %}\n" if pem else "") + CFG % where)
    return folder


def pem_of(tmp_path: pathlib.Path, key: str) -> str:
    pair = self_signed(tmp_path, "www.example.com", key)
    return pair.certificate.read_text() + pair.key.read_text()


@pytest.mark.parametrize(("key", "path"), [("ec", "/etc/haproxy/ssl/www_example_com.pem"), ("ed25519", "/etc/haproxy/general/www_example_com.pem")])
@pytest.mark.parametrize("way", ["file", "path"])
def test_a_path_is_where_the_certificate_is_stored(tmp_path: pathlib.Path, key: str, path: str, way: str) -> None:
    """HAProxy finds it there, too."""
    folder = make_set(tmp_path / "set", f'{way}("certificate", "www.example.com.pem", pem)', pem_of(tmp_path, key))
    if way == "path":
        (folder / "certificates/www.example.com.pem.j2").write_text(pem_of(tmp_path, key))
        (folder / "haproxy.cfg.j2").write_text(CFG % 'path("certificate", "www.example.com.pem", pem)')
        (folder / "set.yaml").write_text("extra:\n  pem: |\n" + "".join(f"    {line}\n" for line in (folder / "certificates/www.example.com.pem.j2").read_text().splitlines()) + TESTS)
    assert f"ssl crt {path}\n" in template("render", folder).stdout
    if haproxy_binary():
        done = template("validate", folder)
        assert (done.returncode, done.stdout) == (0, "ok    one\n"), done.stdout


def test_a_path_by_the_name_alone_that_would_be_another(tmp_path: pathlib.Path) -> None:
    folder = make_set(tmp_path / "set", 'path("certificate", "www.example.com.pem")')
    (folder / "certificates/www.example.com.pem.j2").write_text(pem_of(tmp_path, "ed25519"))
    done = template("render", folder)
    assert done.returncode == 1
    assert "certificate www.example.com.pem: it has an Ed25519 key and is stored among the other files" in done.stderr
    (folder / "certificates/www.example.com.pem.j2").write_text(pem_of(tmp_path, "ec"))
    assert template("render", folder).returncode == 0


def test_no_name_leads_out_of_the_folder_of_a_check(tmp_path: pathlib.Path) -> None:
    made = tmp_path / "tmp"
    made.mkdir()
    for n, name in enumerate(("../escaped", "/tmp/escaped", ".hidden", "a b")):
        done = template("validate", make_set(tmp_path / f"set{n}", f'file("file", "{name}", "x")'), TMPDIR=str(made), HAPROXY_BIN="/bin/true")
        assert done.returncode == 1 and f"files/{name}: the name of a file has letters, digits" in done.stdout
    assert not list(made.rglob("*")) and not (tmp_path / "escaped").exists()


def test_an_ed25519_certificate_of_an_ingress(tmp_path: pathlib.Path) -> None:
    objects = web(endpoint("10.0.0.1"), secrets=[secret("ed", self_signed(tmp_path, "ed.example.com", "ed25519"))])
    objects["ingresses"] += [ingress("ed", rule("ed.example.com", ("Prefix", "/", "web")), tls=[{"hosts": ["ed.example.com"], "secretName": "ed"}])]
    rendered = render(tmp_path, objects)
    assert rendered.files["files/certificates.list"] == "/etc/haproxy/general/default_ed.pem ed.example.com\n"
    assert "certificates/default_ed.pem" in rendered.files
    rendered.files["files/default_ed.pem"] = rendered.files["certificates/default_ed.pem"]
    rendered.files["files/certificates.list"] = rendered.files["files/certificates.list"].replace("/etc/haproxy/general/", f"{tmp_path}/files/")
    assert haproxy_accepts(tmp_path, rendered) == ""
