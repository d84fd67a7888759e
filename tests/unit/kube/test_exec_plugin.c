/* src/kube/exec_plugin: when a plugin is run and for how long its answers are used, what it gets, client certificates, credentials
 * that the server refuses, and plugins that fail. One that hangs or cannot be started is tests/functional/test_exec_plugin.py's. */
#include "kube/exec_plugin.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "../certs.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "host/timer.h"
#include "net/tls_files.h"

#include "../folder.h"
#include "../log_file.h"

#define V1 "client.authentication.k8s.io/v1"
#define PAUSE_MS 20
#define DEADLINE_MS 20000 /* of waiting for anything */

static struct event_base *base;
static struct timer tick;
static struct tls_files *tls;
static struct exec_plugin *plugin;
static unsigned told;

/* Each run adds a line to "runs"; it waits while there is a file "wait", then prints "answer" and "said", and exits with "status".
 * "two" comes of two at a time. */
static char script[] =
    "cd \"$D\"; { [ -e lock ] && kill -0 \"$(cat lock)\" && touch two; } 2>/dev/null; echo $$ >lock; echo run >>runs; "
    "while [ -e wait ]; do sleep 0.01; done; env >environment; cat answer; cat said >&2; status=$(cat status); rm "
    "lock; "
    "exit $status";
static char shell[] = "sh", dash_c[] = "-c", version[] = V1, server[] = "https://10.0.0.1",
            *args[] = {dash_c, script, NULL};
static char *env[3];
static struct kube_exec exec = {.api_version = version, .command = shell, .args = args, .env = env};
static struct kube_access access_by = {.server = server, .exec = &exec};

/* ---- files ---- */

/* Another file by that name, whole at once. */
static void replace_file(const char *name, const char *text)
{
    cleanup(mem_free_ptr) char *path = in_folder(name), *fresh = in_folder("fresh");
    write_file(fresh, text);
    ck_assert_int_eq(rename(fresh, path), 0);
}

static void remove_file(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    ck_assert_int_eq(unlink(path), 0);
}

static char *file_text(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    struct buf text;
    buf_init(&text, 1 << 20);
    ck_assert_int_eq(buf_read_file(&text, path), 0);
    return buf_take(&text);
}

static bool has_file(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    return access(path, F_OK) == 0;
}

static unsigned runs(void)
{
    if (!has_file("runs"))
        return 0;
    cleanup(mem_free_ptr) char *text = file_text("runs");
    return (unsigned)strlen(text) / 4;
}

static void answer_with(const char *status)
{
    cleanup(mem_free_ptr) char *text =
        mem_printf("{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{%s}}", status);
    replace_file("answer", text);
    replace_file("status", "0");
    replace_file("said", "");
}

/* Of a token that expires so many seconds from now; the format has no fractions. When that is, in ms since the Unix epoch. */
static uint64_t answer_token(const char *token, int seconds)
{
    time_t at = (time_t)(clock_wall_ms() / 1000) + seconds;
    struct tm tm;
    char text[32];
    gmtime_r(&at, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    cleanup(mem_free_ptr) char *status = mem_printf("\"token\":\"%s\",\"expirationTimestamp\":\"%s\"", token, text);
    answer_with(status);
    return (uint64_t)at * 1000;
}

/* ---- the loop ---- */

static void on_changed(void *arg)
{
    ck_assert_ptr_eq(arg, &told);
    told++;
}

static void on_tick(void *arg)
{
    event_base_loopbreak(base);
}

static void turn(void)
{
    timer_set(&tick, 2);
    event_base_dispatch(base);
}

#define await(condition)                                                        \
    do {                                                                        \
        uint64_t until_ = clock_mono_ms() + DEADLINE_MS;                        \
        while (!(condition)) {                                                  \
            ck_assert_msg(clock_mono_ms() < until_, "in vain: %s", #condition); \
            turn();                                                             \
        }                                                                       \
    } while (0)

static struct error err;

/* The token in use; NULL: none, and err says why. */
static const char *use(void)
{
    static char copy[64];
    const char *token = NULL;
    error_clear(&err);
    if (exec_plugin_use(plugin, &token, &err) != 0) {
        ck_assert_int_eq(err.kind, ERROR_RETRY);
        ck_assert(exec_plugin_lacks(plugin));
        return NULL;
    }
    ck_assert(!exec_plugin_lacks(plugin));
    snprintf(copy, sizeof(copy), "%s", token != NULL ? token : "(certificate)");
    return copy;
}

static char *ready_line(bool good)
{
    struct buf b = {0};
    const char *command;
    cleanup(mem_free_ptr) char *text = NULL;
    ck_assert_msg(exec_plugin_ready(plugin, &command, &b) == good, "%s", buf_str(&b));
    text = buf_take(&b);
    return mem_printf("[%c]credentials by %s%s%s\n", good ? '+' : '-', command, text[0] != '\0' ? ": " : "", text);
}

static void assert_ready(bool good, const char *says)
{
    cleanup(mem_free_ptr) char *line = ready_line(good);
    ck_assert_msg(strstr(line, says) != NULL, "expected \"%s\" in: %s", says, line);
    ck_assert_msg(str_has_prefix(line, good ? "[+]credentials by " : "[-]credentials by "), "%s", line);
    ck_assert_uint_eq(strcspn(line, "\n"), strlen(line) - 1);
}

static void make_plugin(uint64_t timeout_ms, uint64_t pause_ms)
{
    plugin = exec_plugin_new(&(struct exec_plugin_options){.base = base,
                                                           .access = &access_by,
                                                           .tls = tls,
                                                           .log = &log_to_file,
                                                           .timeout_ms = timeout_ms,
                                                           .pause_ms = pause_ms},
                             on_changed, &told);
}

static void set_up(void)
{
    folder_make();
    log_begin();
    env[0] = mem_printf("D=%s", folder);
    base = event_base_new();
    timer_init(&tick, base, on_tick, NULL);
    tls = tls_files_new(
        &(struct tls_files_options){.peer = "x", .cert.name = "client certificate", .key.name = "client key"}, &err);
    ck_assert_ptr_nonnull(tls);
    make_plugin(0, PAUSE_MS);
}

static void tear_down(void)
{
    exec_plugin_free(plugin);
    tls_files_free(tls);
    timer_fini(&tick);
    event_base_free(base);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_msg(!has_file("two"), "two ran at a time");
    folder_remove();
    log_end();
    free(env[0]);
}

static void answer_fails(const char *said)
{
    replace_file("answer", "");
    replace_file("said", said);
    replace_file("status", "3");
}

/* It fails so, perhaps for the second time already: a slow machine may be past the pause. */
static bool fails_saying(const char *says)
{
    return use() == NULL && strstr(err.message, says) != NULL;
}

FORKED

FIXTURE(set_up, tear_down)

/* ---- the usual way ---- */

TEST(it_is_run_when_credentials_are_asked_for)
{
    answer_with("\"token\":\"one\"");
    turn();
    assert_ready(false, "credentials by sh\n");
    ck_assert_uint_eq(runs(), 0);
    ck_assert_ptr_null(use());
    ck_assert_str_eq(err.message, "waiting for the credential plugin sh");
    assert_ready(false, ": the plugin is running");
    ck_assert_ptr_null(use());
    ck_assert_uint_eq(told, 0);
    await(told > 0);
    ck_assert_str_eq(use(), "one");
    assert_ready(true, "credentials by sh: there\n");
    for (int i = 0; i < 20; i++)
        turn();
    ck_assert_uint_eq(runs(), 1);
    ck_assert_uint_eq(told, 1);
    ck_assert_uint_eq(times_logged("Kubernetes credentials received from the plugin"), 1);
    ck_assert_uint_eq(times_logged("why=first kind=token"), 1);
    ck_assert_uint_eq(times_logged("one"), 0);
}

TEST(expired_ones_stay_in_use_while_it_runs)
{
    answer_token("one", -100);
    use();
    await(told > 0);
    replace_file("wait", "");
    await(runs() == 2);
    cleanup(mem_free_ptr) char *line = NULL;
    do {
        free(line);
        turn();
        struct buf b = {0};
        const char *command;
        exec_plugin_ready(plugin, &command, &b);
        line = buf_take(&b);
    } while (!str_eq(line, "expired; the plugin is running"));
    ck_assert_str_eq(use(), "one");
    answer_token("two", 600);
    remove_file("wait");
    await(str_eq(use(), "two"));
    ck_assert_uint_eq(runs(), 2);
    ck_assert_uint_eq(told, 1);
}

TEST(answers_that_have_expired_are_used_and_doubted)
{
    answer_token("one", -100);
    use();
    await(told > 0);
    ck_assert_str_eq(use(), "one"); /* it may be our clock that is wrong */
    assert_ready(false, ": expired");
    await(runs() == 3);
    ck_assert_uint_ge(times_logged("have already expired; check its clock and this machine's"), 2);
    answer_token("two", 600);
    await(str_eq(use(), "two"));
}

/* ---- what it gets ---- */

TEST(what_is_in_its_environment)
{
    setenv("HAPROXY_DATAPLANE_PASSWORD", "hunter2", 1);
    setenv("KUBERNETES_EXEC_INFO", "old", 1);
    setenv("OURS", "kept", 1);
    setenv("BOTH", "ours", 1);
    char both[] = "BOTH=theirs";
    env[1] = both;
    exec_plugin_free(plugin);
    make_plugin(0, PAUSE_MS);
    answer_with("\"token\":\"one\"");
    use();
    await(told == 1);
    cleanup(mem_free_ptr) char *all = file_text("environment");
    ck_assert_ptr_null(strstr(all, "HAPROXY_DATAPLANE"));
    ck_assert_ptr_null(strstr(all, "BOTH=ours"));
    ck_assert_ptr_null(strstr(all, "=old"));
    ck_assert_ptr_nonnull(strstr(all, "\nBOTH=theirs\n"));
    ck_assert_ptr_nonnull(strstr(all, "OURS=kept\n"));
    ck_assert_ptr_nonnull(strstr(all, "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                                      "\",\"spec\":{\"interactive\":false}}\n"));
    env[1] = NULL;
}

/* ---- client certificates ---- */

/* PEM as it is in JSON. */
static void answer_pair(const char *cert, const char *key, const char *more)
{
    struct buf b = {0};
    buf_printf(&b, "%s\"clientCertificateData\":\"", more);
    for (const char *s = cert; *s != '\0'; s++)
        buf_addn(&b, *s == '\n' ? "\\n" : s, *s == '\n' ? 2 : 1);
    buf_add(&b, "\",\"clientKeyData\":\"");
    for (const char *s = key; *s != '\0'; s++)
        buf_addn(&b, *s == '\n' ? "\\n" : s, *s == '\n' ? 2 : 1);
    buf_add(&b, "\"");
    answer_with(buf_str(&b));
    buf_fini(&b);
}

TEST(client_certificates)
{
    EVP_PKEY *key = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
    cleanup(mem_free_ptr) char *cert = certs_cert_pem(key), *key_pem = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *other_pem = certs_key_pem(other, NULL), *other_cert = certs_cert_pem(other);
    answer_pair(cert, key_pem, "");
    use();
    await(told == 1);
    ck_assert_str_eq(use(), "(certificate)");
    ck_assert_str_eq(tls_files_current(tls)->cert_pem, cert);
    ck_assert_str_eq(tls_files_current(tls)->key_pem, key_pem);
    ck_assert_uint_eq(times_logged("kind=certificate"), 1);
    answer_pair(cert, other_pem, "\"token\":\"t\",");
    exec_plugin_refused(plugin);
    await(told == 2);
    assert_ready(false, "key");
    await(str_eq(use(), "(certificate)")); /* nothing of an answer that is of no use */
    ck_assert_str_eq(tls_files_current(tls)->key_pem, key_pem);
    answer_pair(other_cert, other_pem, "\"token\":\"t\",");
    await(str_eq(use(), "t"));
    ck_assert_str_eq(tls_files_current(tls)->cert_pem, other_cert);
    ck_assert_uint_eq(times_logged("kind=both"), 1);
    answer_with("\"token\":\"u\"");
    exec_plugin_refused(plugin);
    await(str_eq(use(), "u"));
    ck_assert_ptr_null(tls_files_current(tls)->cert_pem);
    ck_assert_ptr_null(tls_files_current(tls)->key_pem);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}

/* ---- refused by the server ---- */

TEST(refused_it_is_run_again_once)
{
    exec_plugin_refused(plugin); /* none is there that could have been refused */
    ck_assert_uint_eq(runs(), 0);
    answer_with("\"token\":\"one\"");
    use();
    await(told == 1);
    replace_file("wait", "");
    for (int i = 0; i < 20; i++) /* the pause after an answer */
        turn();
    exec_plugin_refused(plugin);
    exec_plugin_refused(plugin);
    await(runs() == 2);
    ck_assert_ptr_null(use());
    ck_assert_str_eq(err.message, "waiting for the credential plugin sh");
    assert_ready(false, ": the server refuses them; the plugin is running");
    exec_plugin_refused(plugin);
    answer_with("\"token\":\"two\"");
    remove_file("wait");
    await(told == 2);
    ck_assert_str_eq(use(), "two");
    assert_ready(true, ": there");
    for (int i = 0; i < 20; i++)
        turn();
    ck_assert_uint_eq(runs(), 2);
    ck_assert_uint_eq(times_logged("why=refused"), 1);
}

TEST(refused_ones_are_tried_again_when_it_fails)
{
    answer_with("\"token\":\"one\"");
    use();
    await(told == 1);
    answer_fails("no luck");
    exec_plugin_refused(plugin);
    await(told == 2);
    await(str_eq(use(), "one"));
    assert_ready(false, ": the server refuses them; the credential plugin sh: exit status 3; it says: no luck");
    answer_with("\"token\":\"two\"");
    await(str_eq(use(), "two"));
    ck_assert_uint_ge(told, 2);
}

/* The server takes none of them: no faster than failures. */
TEST(refused_each_time_the_pauses_grow)
{
    exec_plugin_free(plugin);
    make_plugin(0, 300);
    answer_with("\"token\":\"one\"");
    use();
    await(told == 1);
    uint64_t began_ms = clock_mono_ms();
    for (unsigned n = 2; n <= 4; n++) {
        exec_plugin_refused(plugin);
        ck_assert_str_eq(use(), "one"); /* in the pause there is nothing better */
        await(told == n);
    }
    ck_assert_uint_eq(runs(), 4);
    ck_assert_uint_ge(clock_mono_ms() - began_ms, 3 * 300);
}

/* ---- failures ---- */

static const struct {
    const char *answer, *said, *status, *says;
} failures[] = {
    {"", "Unable to locate credentials\n", "255", "sh: exit status 255; it says: Unable to locate credentials"},
    {"Please sign in at https://x/device\n", "", "0", "sh: its answer cannot be used: not JSON (35 bytes)"},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"hunter2\"}}", "but", "9",
     "sh: exit status 9; it says: but"},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
     "\",\"status\":{\"clientCertificateData\":\"hunter2\",\"clientKeyData\":\"hunter2\"}}",
     "", "0", "client certificate"},
};

TEST_EACH(failures_are_said_and_it_is_run_again, array_len(failures))
{
    replace_file("answer", failures[_i].answer);
    replace_file("said", failures[_i].said);
    replace_file("status", failures[_i].status);
    ck_assert_ptr_null(use());
    await(told == 1);
    await(fails_saying(failures[_i].says));
    ck_assert_msg(str_has_prefix(err.message, "the credential plugin sh"), "%s", err.message);
    ck_assert_msg(strstr(err.message, "; run again in ") != NULL, "%s", err.message);
    assert_ready(false, failures[_i].says);
    ck_assert_uint_eq(times_logged("credential plugin failed"), 1);
    ck_assert_uint_eq(times_logged("hunter2"), 0);
    await(told >= 2); /* who waits hears of each */
    answer_with("\"token\":\"one\"");
    await(str_eq(use(), "one"));
    assert_ready(true, ": there\n");
    ck_assert_uint_eq(times_logged("credential plugin failed"), 1);
    answer_fails("again"); /* the pauses begin anew, and it is said again */
    exec_plugin_refused(plugin);
    await(times_logged("credential plugin failed") == 2);
    ck_assert_uint_eq(times_logged("retry_ms=20 "), 2);
}

TEST(a_failure_leaves_good_ones_alone)
{
    answer_token("one", -100);
    use();
    await(told == 1);
    answer_fails("no luck");
    await(times_logged("in_use=\"the last ones\"") > 0);
    ck_assert_str_eq(use(), "one");
    ck_assert_uint_eq(told, 1);
    answer_token("two", 600);
    await(str_eq(use(), "two"));
}
