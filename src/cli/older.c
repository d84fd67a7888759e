#include "cli/flags.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "settings/environment.h"

#define ETCD_DEFAULT "http://127.0.0.1:2379"
#define FILE_DEFAULT "dynamic.cfg"
#define RELOAD_DEFAULT "systemctl reload haproxy"
#define OWN_ENTRIES 8 /* that are no flag's */

enum older_flag {
    OLDER_CLUSTER,
    OLDER_KUBECONFIG,
    OLDER_DRY_RUN, /* these two are ours */
    OLDER_LOG_LEVEL,
    OLDER_ETCD_HOST,
    OLDER_ETCD_PATH,
    OLDER_ETCD_CA,
    OLDER_ETCD_CERT,
    OLDER_ETCD_KEY,
    OLDER_FILE,
    OLDER_EXEC,
    OLDER_FLAGS
};

static const struct {
    const char *name, *variable;
} known[OLDER_FLAGS] = {
    [OLDER_CLUSTER] = {"cluster", "CLUSTER_NAME"},
    [OLDER_KUBECONFIG] = {"kubeconfig", "KUBECONFIG"},
    [OLDER_DRY_RUN] = {"dry-run", "DRY_RUN"},
    [OLDER_LOG_LEVEL] = {"log-level", "LOG_LEVEL"},
    [OLDER_ETCD_HOST] = {"etcd-host", "ETCD_ENDPOINTS"},
    [OLDER_ETCD_PATH] = {"etcd-path", "ETCD_PATH"},
    [OLDER_ETCD_CA] = {"etcd-ca-file", "ETCD_CA_FILE"},
    [OLDER_ETCD_CERT] = {"etcd-client-cert-file", "ETCD_CERT_FILE"},
    [OLDER_ETCD_KEY] = {"etcd-client-key-file", "ETCD_KEY_FILE"},
    [OLDER_FILE] = {"haproxy-config", "HAPROXY_CONFIG_FILE"},
    [OLDER_EXEC] = {"exec", "HAPROXY_RELOAD_COMMAND"},
};

struct older {
    const char *command;            /* "apply"; NULL: none yet */
    struct buf values[OLDER_FLAGS]; /* "": not given */
    unsigned verbose;
};

static void older_fini(struct older *o)
{
    for (size_t i = 0; i < OLDER_FLAGS; i++)
        buf_fini(&o->values[i]);
}

static int older_find(const char *word, size_t len)
{
    for (int i = 0; i < OLDER_FLAGS; i++)
        if (strlen(known[i].name) == len && strncmp(known[i].name, word, len) == 0)
            return i;
    return -1;
}

/* Whether a word that is no flag, and no flag's value, is one of the commands, and not asked about. */
static bool older_is_meant(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++)
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h"))
            return false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            return str_eq(argv[i], "apply") || str_eq(argv[i], "view") || str_eq(argv[i], "watch");
        const char *word = argv[i] + strspn(argv[i], "-");
        int flag = older_find(word, strlen(word));
        i += flag >= 0 && flag != OLDER_DRY_RUN;
    }
    return false;
}

static int older_take_word(int argc, char *const *argv, int *at, struct older *o, struct error *err)
{
    const char *arg = argv[*at];
    if (arg[0] != '-' && o->command == NULL) {
        o->command = arg;
        return 0;
    }
    size_t letters = arg[0] != '\0' ? strspn(arg + 1, "v") : 0;
    if (str_eq(arg, "--verbosity") || (letters > 0 && arg[1 + letters] == '\0')) { /* -v, -vv */
        o->verbose += letters > 0 ? (unsigned)letters : 1;
        return 0;
    }
    const char *word = arg + strspn(arg, "-");
    size_t len = strcspn(word, "=");
    int flag = arg[0] == '-' ? older_find(word, len) : -1;
    if (flag < 0) {
        cleanup(nearest_fini) struct nearest n;
        cleanup(mem_free_ptr) char *name = mem_strndup(arg, strcspn(arg, "="));
        nearest_init(&n, name);
        for (int i = 0; arg[0] == '-' && i < OLDER_FLAGS; i++) {
            cleanup(mem_free_ptr) char *whole = mem_printf("--%s", known[i].name);
            nearest_add(&n, whole, nearest_distance(&n, whole));
        }
        cleanup(mem_free_ptr) char *meant = nearest_question(&n);
        return error_set(err, ERROR_INVALID, "unknown %s \"%s\"%s", arg[0] == '-' ? "flag" : "argument", arg, meant);
    }
    const char *value = word[len] == '='        ? word + len + 1
                        : flag == OLDER_DRY_RUN ? "true"
                        : *at + 1 < argc        ? argv[++*at]
                                                : "";
    if (*value == '\0')
        return error_set(err, ERROR_INVALID, "--%.*s needs a value", (int)len, word);
    /* The same, once more: several hosts. */
    struct buf *to = &o->values[flag];
    if (flag != OLDER_ETCD_HOST)
        buf_clear(to);
    if (to->len > 0)
        buf_add(to, ",");
    if (flag == OLDER_ETCD_PATH && value[0] != '/')
        buf_add(to, "/");
    buf_add(to, value);
    return 0;
}

/* ---- as settings ---- */

static void older_put(struct flags *f, const char *variable, const char *value)
{
    f->environment[f->count++] = mem_printf("%s=%s", variable, value);
}

static bool older_has(const struct older *o, int flag)
{
    return o->values[flag].len > 0;
}

static void older_put_all(const struct older *o, char *const *environ_, const char *folder, struct flags *f)
{
    bool to_file = (older_has(o, OLDER_FILE) || older_has(o, OLDER_EXEC)) && !str_eq(o->command, "view");
    older_put(f, "CONFIG_SOURCE", "services");
    for (int i = 0; i < OLDER_FILE; i++)
        if (older_has(o, i) && !(to_file && i >= OLDER_ETCD_HOST))
            older_put(f, known[i].variable, buf_str(&o->values[i]));
    if (o->verbose > 0 && !older_has(o, OLDER_LOG_LEVEL))
        older_put(f, "LOG_LEVEL", o->verbose > 3 ? "debug" : "info");
    if (to_file) {
        const char *file = older_has(o, OLDER_FILE) ? buf_str(&o->values[OLDER_FILE]) : FILE_DEFAULT;
        cleanup(mem_free_ptr) char *whole = file[0] == '/' ? mem_strdup(file) : mem_printf("%s/%s", folder, file);
        older_put(f, "HAPROXY_CONFIG_FILE", whole);
        older_put(f, "HAPROXY_RELOAD_COMMAND",
                  older_has(o, OLDER_EXEC) ? buf_str(&o->values[OLDER_EXEC]) : RELOAD_DEFAULT);
        return;
    }
    older_put(f, "CONFIG_TARGET", "etcd");
    if (!older_has(o, OLDER_ETCD_HOST) && environment_get(environ_, "ETCD_ENDPOINTS") == NULL)
        older_put(f, "ETCD_ENDPOINTS", ETCD_DEFAULT);
}

int older_take(int argc, char *const *argv, char *const *environ_, const char *folder, struct flags *ret,
               struct error *err)
{
    cleanup(older_fini) struct older o = {0};
    size_t variables = 0;
    *ret = (struct flags){0};
    if (!older_is_meant(argc, argv))
        return 0;
    for (int at = 1; at < argc; at++)
        if (older_take_word(argc, argv, &at, &o, err) != 0)
            return -1;
    if (older_has(&o, OLDER_ETCD_HOST) && (older_has(&o, OLDER_FILE) || older_has(&o, OLDER_EXEC)))
        return error_set(err, ERROR_INVALID,
                         "--etcd-host is set beside --haproxy-config or --exec: expected etcd, or a file");
    while (environ_[variables] != NULL)
        variables++;
    ret->argv = mem_array((size_t)argc + 3, sizeof(ret->argv[0]));
    ret->environment = mem_array(variables + OLDER_FLAGS + OWN_ENTRIES, sizeof(ret->environment[0]));
    /* What is left: the words of our command. */
    char *program = argv[0];
    static char services[] = "services", view[] = "view", apply[] = "apply";
    ret->argv[ret->argc++] = program;
    if (str_eq(o.command, "view")) {
        ret->argv[ret->argc++] = services;
        ret->argv[ret->argc++] = view;
    } else if (str_eq(o.command, "apply")) {
        ret->argv[ret->argc++] = apply;
    }
    older_put_all(&o, environ_, folder, ret);
    memcpy(ret->environment + ret->count, environ_, variables * sizeof(environ_[0]));
    return 1;
}
