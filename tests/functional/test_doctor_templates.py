"""`doctor` with CONFIG_SOURCE=template: the set, each resource that it watches, a render of both; and it waits for nothing that will not come."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.harness.daemon import clean_env, quick_program

from .doctor import Found, both
from .rig import program
from .test_template_source import SAYS, SET, Site, ingress, setting

LONGEST = 60  # s; --timeout is more than that


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"))
    with made.haproxy, made.kube:
        made.kube.put(ingress("one"), setting("s", "here", say="x"))
        yield made


@pytest.fixture
def site(shared: Site) -> Iterator[Site]:
    shared.write("set.yaml", SET)
    shared.write("haproxy.cfg.j2", shared.template())
    yield shared
    shared.kube.forbid()


def look(site: Site, **more: str) -> Found:
    env = clean_env(**{"KUBECONFIG": str(site.kube.kubeconfig(site.home / "kubeconfig")), **site.settings, "LOG_LEVEL": "info", **more})
    return both([str(program())], [str(quick_program())], "--timeout", "600s", env=env, timeout=LONGEST)


def test_all_is_well(site: Site) -> None:
    found = look(site)
    found.says("templates.set", "ok", "1 templates, ")
    found.says("templates.resource", "ok", "ingresses: networking.k8s.io/v1 Ingress, 1 objects, ")
    found.says("templates.resource", "ok", "settings: v1 ConfigMap, 1 objects, ")
    found.says("templates.render", "ok", "haproxy.cfg and 0 files in ")
    assert not found.failed() and f"\nTemplates {site.set}\n" in found.text, found.text
    assert site.says() == "zero" and not (site.home / "state").exists(), "it writes nothing"


def test_resources_that_cannot_be_read_and_objects_that_are_left_out(site: Site) -> None:
    site.write("set.yaml", SET + "  widgets: {apiVersion: example.com/v1, kind: Widget}\n  pods: {apiVersion: v1, kind: Pod}\n")
    site.write("haproxy.cfg.j2", site.template(SAYS + "{% for i in resources.ingresses %}{{ warn(i, 'no class') }}{% endfor %}"))
    site.kube.forbid("pods")
    found = look(site)
    refused = found.says("templates.resource", "fail", "pods: v1 Pod: ")
    assert "403" in refused["found"] and "templates.watch" in str(refused["fixes"])
    assert found.failed() == ["templates.resource"] and "nothing is rendered" in found.text, found.text
    site.kube.forbid()
    found = look(site)
    found.says("templates.resource", "warn", "widgets: example.com/v1 Widget: ")
    found.says("templates.left-out", "warn", "Ingress here/one: no class")
    found.says("templates.render", "ok", "haproxy.cfg")
    assert not found.failed(), found.text


@pytest.mark.parametrize("name, text, id_, says", [
    ("set.yaml", "watch:\n  ingresses: {apiVersion: v1, kynd: Ingress}\n", "templates.set", "kynd"),
    ("haproxy.cfg.j2", "{{ nothing }}", "templates.render", "haproxy.cfg:1:4: undefined value")])
def test_what_is_wrong_is_said_with_its_place(site: Site, name: str, text: str, id_: str, says: str) -> None:
    site.write(name, text)
    found = look(site)
    found.says(id_, "fail", says)
    assert found.failed() == [id_], found.text


def test_a_set_in_a_config_map_that_is_not_there(site: Site, tmp_path: pathlib.Path) -> None:
    found = look(site, TEMPLATE_FROM="configmap:lb/none")
    found.says("templates.set", "fail", "ConfigMap lb/none does not exist")
    site.kube.forbid("configmaps", "ingresses")
    found = look(site, TEMPLATE_FROM="configmap:lb/none")
    found.says("templates.set", "skip", "see the permissions")


def test_a_configuration_in_a_secret(site: Site) -> None:
    """There is no Service to read, and none is waited for."""
    found = look(site, CONFIG_SOURCE="secret", TEMPLATE_FROM="", CONFIG_SECRET_NAMESPACE="lb", CONFIG_SECRET_NAME="whole")
    found.says("kubernetes.rights.secret", "ok", "list, watch secrets lb/whole")
    assert not found.failed() and "templates" not in {check["section"] for check in found.checks}, found.text
