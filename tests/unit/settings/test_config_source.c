/* CONFIG_SOURCE and what goes with it. */

#include "../settings_text.h"

#define FILE_SOURCE "CONFIG_SOURCE=file", "CONFIG_FILE=/etc/haproxy.cfg"
#define BOTH "HAPROXY_BACKEND_NAME=be"

#define SECRET_SOURCE "CONFIG_SOURCE=secret", "CONFIG_SECRET_NAMESPACE=ns", "CONFIG_SECRET_NAME=s"

TEST(a_file_alone_needs_no_kubernetes)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, FILE_SOURCE);
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.mapping_count, 0);
    ck_assert(!settings_need_kubernetes(&p.settings));
    ck_assert_str_eq(p.settings.config_file, "/etc/haproxy.cfg");
    cleanup(parsed_fini) struct parsed elected = parse(LOGIN, FILE_SOURCE, "LEADER_ELECT=true");
    assert_silent(&elected);
    ck_assert(settings_need_kubernetes(&elected.settings));
}

TEST(a_secret_alone_needs_kubernetes)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, SECRET_SOURCE);
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.mapping_count, 0);
    ck_assert(settings_need_kubernetes(&p.settings));
    ck_assert_str_eq(p.settings.config_secret_key, "haproxy.cfg");
    ck_assert_str_eq(settings_first_namespace(&p.settings), "ns");
}

TEST(services_with_annotations)
{
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, "CONFIG_SOURCE=services", "CONFIG_FILE=/etc/haproxy.cfg", "CLUSTER_NAME=east-1",
              "SERVICES_PORTS=80, 8000-8999", "ANNOTATION_PREFIX=example.com/lb", "SERVICES_SECRET_NAMESPACES=certs,a",
              "HAPROXY_STORAGE_DIR=/data", "SHARED_HOSTS=*,*.a.example,b.example");
    assert_silent(&p); /* where a Data Plane API puts maps has an effect, too */
    ck_assert_uint_eq(p.settings.services_secret_namespaces.count, 2);
    ck_assert_str_eq(p.settings.services_secret_namespaces.list[1], "a");
    ck_assert_uint_eq(p.settings.shared_hosts.count, 3);
    ck_assert_uint_eq(p.settings.mapping_count, 0);
    ck_assert(settings_need_kubernetes(&p.settings));
    ck_assert_str_eq(p.settings.services_label, "haproxy-kubefigurator.enabled=yes");
    ck_assert_str_eq(p.settings.services_certificates_dir, "/etc/haproxy/ssl");
    ck_assert_ptr_null(p.settings.node_selector);
    const struct settings_ports *ports = &p.settings.services_ports;
    ck_assert_uint_eq(ports->count, 2);
    ck_assert(ports->list[0].from == 80 && ports->list[0].to == 80);
    ck_assert(ports->list[1].from == 8000 && ports->list[1].to == 8999);
    cleanup(buf_fini) struct buf out = {0};
    settings_print(&p.settings, &out);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\nSERVICES_PORTS=80,8000-8999 "));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\nANNOTATION_PREFIX=example.com/lb "));
}

/* A Service beside it: its servers alone are managed, and all else of its backend is left as it is. */
TEST(both_can_be_had)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, FILE_SOURCE, BOTH, "CONFIG_KEEP_BACKENDS=a, b.c",
                                                 "HAPROXY_BALANCE=keep", "HAPROXY_CREATE_BACKEND=false");
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.mapping_count, 1);
    ck_assert(settings_need_kubernetes(&p.settings));
    ck_assert(p.settings.balance == NULL && p.settings.adv_check == NULL);
    ck_assert_uint_eq(p.settings.config_keep_backends.count, 2);
    ck_assert_str_eq(p.settings.config_keep_backends.list[1], "b.c");
    cleanup(parsed_fini) struct parsed alone = parse(LOGIN, BOTH);
    ck_assert_str_eq(alone.settings.balance, "roundrobin");
}

#define TEMPLATES "CONFIG_SOURCE=template", "TEMPLATE_FROM=file:/t"
#define PODS "CONFIG_SOURCE=template", "TEMPLATE_FROM=pods:lb"
#define SERVICES "CONFIG_SOURCE=services", "CONFIG_FILE=/etc/haproxy.cfg"
#define BESIDE " is set beside CONFIG_SOURCE: expected it unset"

static const struct {
    const char *env[5], *says;
} said[] = {
    {{"CONFIG_SOURCE=file"},
     "error: CONFIG_SOURCE=file needs CONFIG_FILE: expected the absolute path of a haproxy.cfg\n"},
    {{"CONFIG_FILE=/f"}, "warning: CONFIG_FILE has no effect without CONFIG_SOURCE=file or services\n"},
    {{"CONFIG_SOURCE=file", "CONFIG_FILE=f"},
     "error: CONFIG_FILE=\"f\": expected the absolute path of a haproxy.cfg; it does not begin with '/'\n"},
    {{"CONFIG_SOURCE=secrets"},
     "error: CONFIG_SOURCE=\"secrets\": expected none, file, secret, template, services or etcd"},
    {{"CONFIG_SOURCE=template"},
     "error: CONFIG_SOURCE=template needs TEMPLATE_FROM: expected file: and the absolute path"},
    {{"CONFIG_SOURCE=template", "TEMPLATE_FROM=/t"},
     "error: TEMPLATE_FROM=\"/t\": expected file: and the absolute path of a "
     "folder, configmap:namespace/name, or pods:namespace; put file: in front of it"},
    {{"CONFIG_SOURCE=template", "TEMPLATE_FROM=configmap:t"}, "the namespace is missing: configmap:namespace/name\n"},
    {{"CONFIG_SOURCE=template", "TEMPLATE_FROM=configmap:Ns/t"}, "error: TEMPLATE_FROM=\"configmap:Ns/t\""},
    {{"CONFIG_SOURCE=template", "TEMPLATE_FROM=pods:lb/x"}, "error: TEMPLATE_FROM=\"pods:lb/x\": expected file: and"},
    {{PODS, "ETCD2BASE=http://etcd:2379"}, "warning: ETCD2BASE is no longer needed"},
    {{PODS, "STATISTICS_PASSWORD=a\tb"}, "error: STATISTICS_PASSWORD: expected a password without control characters"},
    {{PODS, "STATISTICS_PASSWORD=a", "STATISTICS_PASSWORD_FILE=/p"}, "and STATISTICS_PASSWORD_FILE are both set"},
    {{PODS, "STATISTICS_PASSWORD_FILE=/nowhere/p"}, "error: STATISTICS_PASSWORD_FILE: expected a readable file"},
    {{TEMPLATES, "STATISTICS_PASSWORD=a"}, "warning: STATISTICS_PASSWORD has no effect without TEMPLATE_FROM=pods:"},
    {{TEMPLATES, "HAPROXY_BACKEND_NAME=be"},
     "is set, and the HAProxies are pods (`targets` of the template set): expected HAPROXY_DATAPLANE_URL or "
     "HAPROXY_CONFIG_FILE"},
    {{"CONFIG_SOURCE=services"},
     "error: CONFIG_SOURCE=services needs CONFIG_FILE where HAProxy is behind a Data Plane API"},
    {{SERVICES, "SERVICES_LABEL=a b"}, "error: SERVICES_LABEL=\"a b\": expected a label selector"},
    {{SERVICES, "ANNOTATION_PREFIX=a/b/c"}, "error: ANNOTATION_PREFIX=\"a/b/c\": expected what an annotation's"},
    {{SERVICES, "ANNOTATION_PREFIX=a."}, "error: ANNOTATION_PREFIX=\"a.\""},
    {{SERVICES, "CLUSTER_NAME=a b"}, "error: CLUSTER_NAME=\"a b\": expected letters"},
    {{SERVICES, "SERVICES_PORTS=80,0"}, "error: SERVICES_PORTS=\"80,0\": expected 1 to 64 ports"},
    {{SERVICES, "SERVICES_PORTS=90-80"}, "error: SERVICES_PORTS=\"90-80\""},
    {{SERVICES, "SERVICES_PORTS=80-65536"}, "error: SERVICES_PORTS=\"80-65536\""},
    {{SERVICES, "SERVICES_CERTIFICATES_DIR=certs"}, "error: SERVICES_CERTIFICATES_DIR=\"certs\""},
    {{SERVICES, "SERVICES_SECRET_NAMESPACES=a.b"}, "error: SERVICES_SECRET_NAMESPACES=\"a.b\": expected 1 to 64 names"},
    {{"SERVER_NAME_FORMAT={cluster}_{node}"},
     "error: SERVER_NAME_FORMAT has {cluster}, which needs CLUSTER_NAME: expected a name that no other cluster on "
     "these "
     "HAProxies has (letters, digits, '-' and '.', at most 63 characters)\n"},
    {{"TEMPLATE_FROM=file:/t"}, "warning: TEMPLATE_FROM has no effect without CONFIG_SOURCE=template\n"},
    {{FILE_SOURCE, "HOST_OWNERSHIP=any"},
     "warning: HOST_OWNERSHIP has no effect without CONFIG_SOURCE=services or template\n"},
    {{FILE_SOURCE, "HOST_OWNERS_CONFIGMAP=m"},
     "warning: HOST_OWNERS_CONFIGMAP has no effect without CONFIG_SOURCE=services or template\n"},
    {{TEMPLATES, "HOST_OWNERS_CONFIGMAP=a/b"}, "error: HOST_OWNERS_CONFIGMAP=\"a/b\": expected a ConfigMap's name"},
    {{FILE_SOURCE, "FOREIGN_PROTECTION=warn"}, "warning: FOREIGN_PROTECTION has no effect without CONFIG_SOURCE="},
    {{TEMPLATES, "FOREIGN_PROTECTION=no"}, "error: FOREIGN_PROTECTION=\"no\": expected refuse or warn"},
    {{TEMPLATES, "SHARED_HOSTS=a.*.example"}, "error: SHARED_HOSTS=\"a.*.example\": expected 1 to 64 DNS names"},
    {{"CONFIG_SOURCE=secret"},
     "error: CONFIG_SOURCE=secret needs CONFIG_SECRET_NAMESPACE: expected a namespace's name"},
    {{"CONFIG_SOURCE=secret", "CONFIG_SECRET_NAMESPACE=ns"}, "error: CONFIG_SOURCE=secret needs CONFIG_SECRET_NAME: "},
    {{"CONFIG_SECRET_NAMESPACE=ns", "CONFIG_SECRET_NAME=s"}, "NAME have no effect without CONFIG_SOURCE=secret\n"},
    {{"CONFIG_REPORT=annotation"}, "CONFIG_REPORT has no effect without CONFIG_SOURCE=secret\n"},
    {{"CONFIG_REPORT_CONFIGMAP=m"}, "CONFIG_REPORT_CONFIGMAP has no effect without CONFIG_SOURCE=secret\n"},
    {{SECRET_SOURCE, "CONFIG_REPORT=secret"}, "error: CONFIG_REPORT=\"secret\": expected events or annotation\n"},
    {{SECRET_SOURCE, "CONFIG_FILE=/f"}, "warning: CONFIG_FILE has no effect without CONFIG_SOURCE=file or services\n"},
    {{SECRET_SOURCE, "CONFIG_SECRET_KEY=maps/a"}, "error: CONFIG_SECRET_KEY=\"maps/a\": expected a key of a Secret ("},
    {{"CONFIG_SOURCE=secret", "CONFIG_SECRET_NAMESPACE=ns", "CONFIG_SECRET_NAME=ns/s"},
     "set the namespace in CONFIG_SECRET_NAMESPACE\n"},
    {{FILE_SOURCE, BOTH, "HAPROXY_BALANCE=first"}, "error: HAPROXY_BALANCE" BESIDE},
    {{FILE_SOURCE, BOTH, "HAPROXY_ADV_CHECK=httpchk"}, "error: HAPROXY_ADV_CHECK" BESIDE},
    {{FILE_SOURCE, BOTH, "HAPROXY_SEND_PROXY_V2=false"}, "error: HAPROXY_SEND_PROXY_V2" BESIDE},
    {{FILE_SOURCE, BOTH, "HAPROXY_HEALTH_CHECK=node-port"}, "error: HAPROXY_HEALTH_CHECK" BESIDE},
    {{FILE_SOURCE, BOTH, "HAPROXY_CREATE_BACKEND=true"}, "error: HAPROXY_CREATE_BACKEND" BESIDE},
    {{FILE_SOURCE, BOTH, "CONFIG_KEEP_BACKENDS=a be"}, "error: CONFIG_KEEP_BACKENDS has be, whose servers are"},
    {{FILE_SOURCE, "CONFIG_KEEP_BACKENDS=a,b a"}, "CONFIG_KEEP_BACKENDS=\"a,b a\": expected 1 to 64 names of"},
    {{FILE_SOURCE, "CONFIG_CANARY=1"}, "error: CONFIG_CANARY=1: expected 0, because there is one HAProxy alone"},
    {{FILE_SOURCE, "CONFIG_CANARY=2", "HAPROXY_DATAPLANE_URL=http://a:1,http://b:1"},
     "error: CONFIG_CANARY=2: expected less than 2, the number of HAProxies"},
    {{FILE_SOURCE, "CONFIG_CANARY=-1"}, "error: CONFIG_CANARY=\"-1\": expected a number below that of the HAProxies"},
    {{FILE_SOURCE, "CONFIG_CANARY_TIME=0s"}, "error: CONFIG_CANARY_TIME=\"0s\": expected a duration from 1s to 1h"},
    {{FILE_SOURCE, "CONFIG_ROLLBACK=never"}, "error: CONFIG_ROLLBACK=\"never\": expected auto, serving or report"},
};

/* Where nothing says where HAProxy is, the set does: there is no default. */
TEST(templates_and_where_haproxy_is)
{
    cleanup(parsed_fini) struct parsed pods = parse(LOGIN, TEMPLATES, "CONFIG_CANARY=1");
    assert_silent(&pods);
    ck_assert_uint_eq(settings_haproxy_count(&pods.settings), 0);
    ck_assert(settings_haproxies_are_pods(&pods.settings));
    cleanup(parsed_fini) struct parsed url = parse(LOGIN, TEMPLATES, "HAPROXY_DATAPLANE_URL=http://a:1");
    assert_silent(&url);
    ck_assert(!settings_haproxies_are_pods(&url.settings));
    cleanup(parsed_fini) struct parsed spire = parse(LOGIN, TEMPLATES, "SPIRE_AGENT_SOCKET=/s");
    assert_silent(&spire);
    cleanup(parsed_fini) struct parsed file = parse(LOGIN, FILE_SOURCE);
    ck_assert_uint_eq(settings_haproxy_count(&file.settings), 1);
    ck_assert(!settings_haproxies_are_pods(&file.settings));
}

/* It is the label of the metrics, too. */
TEST(the_cluster_of_servers)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "CLUSTER_NAME=east");
    assert_silent(&p);
    ck_assert(!settings_share_backends(&p.settings));
    cleanup(parsed_fini) struct parsed shared =
        parse(LOGIN, "CLUSTER_NAME=east-1.a", "SERVER_NAME_FORMAT=web_k8s-{cluster}-x_{node}:{port}");
    assert_silent(&shared);
    ck_assert(settings_share_backends(&shared.settings));
}

TEST(templates_from_a_folder_or_an_object)
{
    cleanup(parsed_fini) struct parsed folder =
        parse(LOGIN, TEMPLATES, "HAPROXY_STORAGE_DIR=/data", "SHARED_HOSTS=*,*.a.example,b.example");
    assert_silent(&folder);
    ck_assert_str_eq(folder.settings.template_from.folder, "/t");
    ck_assert_uint_eq(folder.settings.template_timeout_ms, 10000);
    ck_assert_uint_eq(folder.settings.mapping_count, 0);
    ck_assert(settings_need_kubernetes(&folder.settings));
    /* Where a Data Plane API puts them. */
    cleanup(mem_free_ptr) char *maps = settings_local_folder(&folder.settings.local, SETTINGS_FOLDER_MAPS),
                               *certs = settings_local_folder(&folder.settings.local, SETTINGS_FOLDER_CERTS);
    ck_assert_str_eq(maps, "/data/maps");
    ck_assert_str_eq(certs, "/data/ssl");
    cleanup(parsed_fini) struct parsed object =
        parse(LOGIN, "CONFIG_SOURCE=template", "TEMPLATE_FROM=configmap:ns/a.b");
    assert_silent(&object);
    ck_assert(object.settings.template_from.folder == NULL);
    ck_assert_str_eq(object.settings.template_from.namespace, "ns");
    ck_assert_str_eq(object.settings.template_from.name, "a.b");
    cleanup(mem_free_ptr) char *usual = settings_local_folder(&object.settings.local, SETTINGS_FOLDER_CERTS);
    ck_assert_str_eq(usual, "/etc/haproxy/ssl");
    ck_assert_str_eq(settings_first_namespace(&object.settings), "ns");
    struct buf out = {0};
    settings_print(&object.settings, &out);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\nTEMPLATE_FROM=configmap:ns/a.b "));
    buf_fini(&out);
}

TEST(templates_over_pods)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, PODS, "STATISTICS_PASSWORD=s3cr3t");
    assert_silent(&p);
    ck_assert(settings_template_pods(&p.settings));
    ck_assert_str_eq(settings_first_namespace(&p.settings), "lb");
    ck_assert_str_eq(p.settings.statistics_password.value, "s3cr3t");
    struct buf out = {0};
    settings_print(&p.settings, &out);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\nTEMPLATE_FROM=pods:lb "));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\nSTATISTICS_PASSWORD=***  # from the environment\n"));
    ck_assert_ptr_null(strstr(buf_str(&out), "s3cr3t"));
    buf_fini(&out);
    cleanup(parsed_fini) struct parsed none = parse(LOGIN, PODS);
    assert_silent(&none);
    ck_assert(!secret_is_set(&none.settings.statistics_password));
    cleanup(parsed_fini) struct parsed others = parse(LOGIN, TEMPLATES);
    ck_assert(!settings_template_pods(&others.settings));
}

TEST_EACH(what_does_not_go_together_is_said, array_len(said))
{
    const char *const *e = said[_i].env;
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, e[0], e[1], e[2], e[3]);
    assert_says(&p, said[_i].says);
}

TEST(a_canary_of_several)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, FILE_SOURCE, "HAPROXY_DATAPLANE_URL=http://a:1,http://b:1",
                                                 "CONFIG_CANARY=1", "CONFIG_ROLLBACK=serving");
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.config_canary, 1);
    ck_assert_uint_eq(p.settings.config_canary_time_ms, 30000);
    ck_assert_int_eq(p.settings.config_rollback, SETTINGS_ROLLBACK_SERVING);
}

/* What is wrong with a value is said; not also that there is none. */
TEST(a_value_that_cannot_be_used_is_one_error)
{
    cleanup(parsed_fini) struct parsed file = parse(LOGIN, "CONFIG_SOURCE=file", "CONFIG_FILE=f", NULL, NULL);
    assert_says(&file, "error: CONFIG_FILE=");
    assert_does_not_say(&file, "needs CONFIG_FILE");
    cleanup(parsed_fini) struct parsed secret =
        parse(LOGIN, "CONFIG_SOURCE=secret", "CONFIG_SECRET_NAMESPACE=ns", "CONFIG_SECRET_NAME=ns/s", NULL);
    assert_does_not_say(&secret, "needs CONFIG_SECRET_NAME");
}

/* Tenants have no other answer; what is set counts. */
static const struct {
    const char *settings[4];
    bool emits;
} answers[] = {
    {{SERVICES}, true},
    {{"CONFIG_SOURCE=template", "TEMPLATE_FROM=file:/set"}, true},
    {{SERVICES, "EMIT_EVENTS=false"}, false},
    {{SERVICES, "DRY_RUN=true"}, false},
    {{"CONFIG_SOURCE=file", "CONFIG_FILE=/etc/haproxy.cfg"}, false},
    {{"CONFIG_SOURCE=file", "CONFIG_FILE=/etc/haproxy.cfg", "EMIT_EVENTS=true"}, true},
};

TEST_EACH(tenants_get_events, array_len(answers))
{
    const char *const *s = answers[_i].settings;
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, s[0], s[1] != NULL ? s[1] : "LOG_LEVEL=info", s[2] != NULL ? s[2] : "LOG_LEVEL=info");
    ck_assert_int_eq(p.settings.emit_events, answers[_i].emits);
}
