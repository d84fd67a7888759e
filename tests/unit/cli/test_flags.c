/* src/cli/flags: settings on the command line. */

#include "cli/flags.h"
#include "settings/settings.h"
#include "settings/table.h"

#include "../test.h"

/* "NAME=value NAME=value | argument argument", or the error. */
static char *taken(const char *line)
{
    char program[] = "program", home[] = "HOME=/";
    char *argv[16] = {program}, *env[] = {home, NULL};
    int argc = 1;
    cleanup(mem_free_ptr) char *copy = mem_strdup(line);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < 16;)
        if (*line != '\0')
            argv[argc++] = word;
    cleanup(flags_fini) struct flags f = {0};
    if (flags_take(argc, argv, env, &f, &flaw) != 0)
        return mem_strdup(flaw.message);
    struct buf out = {0};
    for (size_t i = 0; i < f.count; i++)
        buf_printf(&out, "%s ", f.environment[i]);
    ck_assert_str_eq(f.environment[f.count], "HOME=/");
    ck_assert_ptr_null(f.environment[f.count + 1]);
    ck_assert_str_eq(f.argv[0], "program");
    ck_assert_ptr_null(f.argv[f.argc]);
    buf_add(&out, "|");
    for (int i = 1; i < f.argc; i++)
        buf_printf(&out, " %s", f.argv[i]);
    ck_assert_uint_eq(f.given_count, f.count);
    for (size_t i = 0; i < f.given_count; i++)
        ck_assert(str_has_prefix(f.environment[i], f.given[i].name));
    return buf_take(&out);
}

static const struct {
    const char *line, *wanted;
} rows[] = {
    {"", "|"},
    {"plan -o json", "| plan -o json"},
    {"--mode=k8s --namespace ns", "MODE=k8s WATCH_NAMESPACE=ns |"},
    {"-mode k8s --secret-name=s --secret-key=k", "MODE=k8s SECRET_NAME=s SECRET_KEY=k |"},
    {"--mode=k8s --dataplane-url=https://a:1/v3?x=y", "MODE=k8s DATAPLANE_URL=https://a:1/v3?x=y |"},
    {"--leader-elect --kubeconfig=/k", "LEADER_ELECT=true KUBECONFIG=/k |"},
    {"--leader-elect=false plan", "LEADER_ELECT=false | plan"},
    {"--mode=local --local-watch=false --local-config-path=/f", "MODE=local LOCAL_WATCH=false LOCAL_CONFIG_PATH=/f |"},
    {"--mode=k8s --metrics-bind-address=0 --health-probe-bind-address :1", "MODE=k8s METRICS_ADDR=0 PROBE_ADDR=:1 |"},
    {"--mode=k8s --dataplane-ca-cert=/c --dataplane-insecure",
     "MODE=k8s DATAPLANE_CA_CERT=/c DATAPLANE_INSECURE=true |"},
    {"--spire-socket=/s", "SPIRE_AGENT_SOCKET=/s |"},
    {"--secret-name=s", "--secret-name is used only with --mode=k8s or --mode=local (or MODE): add one of them, or set "
                        "the variable of haproxy-k8s-sync instead (docs/settings.md)"},
    {"--leader-elect --namespace n plan",
     "--namespace is used only with --mode=k8s or --mode=local (or MODE): add one of them, or set the variable of "
     "haproxy-k8s-sync instead (docs/settings.md)"},
    {"--mode=k8s --help", "MODE=k8s | --help"},
    {"--mode=k8s --wrong=1", "MODE=k8s | --wrong=1"},
    {"--dataplane-password=p", /* for all to read */
     "--dataplane-password: it would be shown in the list of processes: set the variable DATAPLANE_PASSWORD"},
    {"--mode=k8s --dataplane-username u",
     "--dataplane-username: it would be shown in the list of processes: set the variable DATAPLANE_USERNAME"},
    {"--local-poll=5s", "--local-poll: the file is followed without polling: leave it out"},
    {"--zap-log-level=debug", "--zap-log-level: set LOG_LEVEL and LOG_FORMAT instead"},
    {"--mode=k8s --certs-secret-names=a,b", "MODE=k8s CERTS_SECRET_NAMES=a,b |"},
    {"--mode", "--mode needs a value"},
    {"--mode= x", "--mode needs a value"},
    {"--MODE=k8s", "| --MODE=k8s"},
    {"plan --mode=k8s", "MODE=k8s | plan"},
    {"--dry-run", "DRY_RUN=true |"},
    {"--dry-run=false plan", "DRY_RUN=false | plan"},
    {"plan --dry-run -o json", "DRY_RUN=true | plan -o json"},
    {"--kubeconfig /k plan --log-level=warn", "KUBECONFIG=/k LOG_LEVEL=warn | plan"},
    {"-v", "LOG_LEVEL=debug |"},
    {"-v plan --log-level error", "LOG_LEVEL=error | plan"},
    {"--log-level=error -v", "LOG_LEVEL=debug |"},
    {"--kubeconfig=/a --dry-run --kubeconfig=/b", "KUBECONFIG=/b DRY_RUN=true |"},
    {"explain -- -v", "| explain -- -v"},
    {"config plan -", "| config plan -"},
    {"--kubeconfig --dry-run", "--kubeconfig needs a value"},
    {"plan --log-level", "--log-level needs a value"},
    {"plan --secret-name=s", "--secret-name is used only with --mode=k8s or --mode=local (or MODE): add one of them, "
                             "or set the variable of haproxy-k8s-sync instead (docs/settings.md)"},
    {"-vv", "| -vv"},
};

/* What check-config says of it. */
TEST(the_word_that_gave_it)
{
    char program[] = "program", verbose[] = "-v", dry[] = "--dry-run=false", plan[] = "plan", home[] = "HOME=/";
    char *argv[] = {program, verbose, plan, dry, NULL}, *env[] = {home, NULL};
    cleanup(flags_fini) struct flags f = {0};
    ck_assert_int_eq(flags_take(4, argv, env, &f, &flaw), 0);
    ck_assert_str_eq(flags_word(&f, SETTING(log_level)), "-v");
    ck_assert_str_eq(flags_word(&f, SETTING(dry_run)), "--dry-run");
    ck_assert_ptr_null(flags_word(&f, SETTING(kubeconfig)));
}

TEST_EACH(what_they_become, array_len(rows))
{
    cleanup(mem_free_ptr) char *got = taken(rows[_i].line);
    ck_assert_str_eq(got, rows[_i].wanted);
}
