/* src/cli/older: the command line of an older system, as our settings and commands. */

#include "cli/flags.h"

#include "../test.h"

/* "NAME=value;NAME=value | argument", "none", or the error. */
static char *taken(const char *line, const char *variable)
{
    char program[] = "program", *own = mem_strdup(variable);
    char *argv[16] = {program}, *env[] = {own, NULL};
    int argc = 1;
    cleanup(mem_free_ptr) char *copy = mem_strdup(line);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < 16;)
        argv[argc++] = word;
    cleanup(flags_fini) struct flags f = {0};
    struct buf out = {0};
    int status = older_take(argc, argv, env, "/home", &f, &flaw);
    if (status == 1) {
        ck_assert_ptr_eq(f.environment[f.count], own);
        ck_assert_ptr_null(f.environment[f.count + 1]);
        ck_assert_str_eq(f.argv[0], "program");
        ck_assert_ptr_null(f.argv[f.argc]);
    }
    for (size_t i = 0; i < f.count; i++)
        buf_printf(&out, "%s%s", i > 0 ? ";" : "", f.environment[i]);
    for (int i = 1; i < f.argc; i++)
        buf_printf(&out, " | %s", f.argv[i]);
    if (status != 1)
        buf_add(&out, status == 0 ? "none" : flaw.message);
    free(own);
    return buf_take(&out);
}

#define ETCD "CONFIG_TARGET=etcd"
#define HERE "ETCD_ENDPOINTS=http://127.0.0.1:2379"
#define RELOADS "HAPROXY_RELOAD_COMMAND="

static const struct {
    const char *line, *wanted;
} rows[] = {
    {"plan", "none"},
    {"services view", "none"},
    {"config apply", "none"},
    {"--mode=k8s plan", "none"},
    {"apply", "CONFIG_SOURCE=services;" ETCD ";" HERE " | apply"},
    {"view", "CONFIG_SOURCE=services;" ETCD ";" HERE " | services | view"},
    {"watch", "CONFIG_SOURCE=services;" ETCD ";" HERE},
    {"--cluster east apply", "CONFIG_SOURCE=services;CLUSTER_NAME=east;" ETCD ";" HERE " | apply"},
    {"apply --cluster=east --kubeconfig /k",
     "CONFIG_SOURCE=services;CLUSTER_NAME=east;KUBECONFIG=/k;" ETCD ";" HERE " | apply"},
    {"--cluster watch apply", "CONFIG_SOURCE=services;CLUSTER_NAME=watch;" ETCD ";" HERE " | apply"},
    {"--etcd-host https://a:1 --etcd-host https://b:1,https://c:1 --etcd-path p/q --etcd-ca-file /ca "
     "--etcd-client-cert-file /c --etcd-client-key-file /k apply",
     "CONFIG_SOURCE=services;ETCD_ENDPOINTS=https://a:1,https://b:1,https://c:1;ETCD_PATH=/p/q;ETCD_CA_FILE=/ca;"
     "ETCD_CERT_FILE=/c;ETCD_KEY_FILE=/k;" ETCD " | apply"},
    {"watch --haproxy-config d.cfg",
     "CONFIG_SOURCE=services;HAPROXY_CONFIG_FILE=/home/d.cfg;" RELOADS "systemctl reload haproxy"},
    {"watch --haproxy-config=/e/d.cfg --exec true",
     "CONFIG_SOURCE=services;HAPROXY_CONFIG_FILE=/e/d.cfg;" RELOADS "true"},
    {"watch --exec true", "CONFIG_SOURCE=services;HAPROXY_CONFIG_FILE=/home/dynamic.cfg;" RELOADS "true"},
    {"view --haproxy-config d.cfg", "CONFIG_SOURCE=services;" ETCD ";" HERE " | services | view"},
    {"-vv watch", "CONFIG_SOURCE=services;LOG_LEVEL=info;" ETCD ";" HERE},
    {"watch -vvvv", "CONFIG_SOURCE=services;LOG_LEVEL=debug;" ETCD ";" HERE},
    {"apply --exec true --etcd-host http://a:1",
     "--etcd-host is set beside --haproxy-config or --exec: expected etcd, or a file"},
    {"--dry-run apply", "CONFIG_SOURCE=services;DRY_RUN=true;" ETCD ";" HERE " | apply"},
    {"watch -v --log-level warn", "CONFIG_SOURCE=services;LOG_LEVEL=warn;" ETCD ";" HERE},
    {"apply --help", "none"},
    {"help apply", "none"},
    {"apply --clustr=x", "unknown flag \"--clustr=x\"; did you mean \"--cluster\"?"},
    {"apply --cluster", "--cluster needs a value"},
    {"apply --wrong=1", "unknown flag \"--wrong=1\""},
    {"apply watch", "unknown argument \"watch\""},
};

TEST_EACH(older_words, array_len(rows))
{
    cleanup(mem_free_ptr) char *is = taken(rows[_i].line, "HOME=/");
    ck_assert_str_eq(is, rows[_i].wanted);
}

/* What the environment says is not replaced by a default. */
TEST(older_variables_count)
{
    cleanup(mem_free_ptr) char *is = taken("apply", "ETCD_ENDPOINTS=http://e:1");
    ck_assert_str_eq(is, "CONFIG_SOURCE=services;" ETCD " | apply");
}
