/* src/kube/exec_plugin: when it is run and for how long its answers are used, what it gets, client certificates. */
#include "exec_plugin_world.h"

#include "../test.h"

/* ---- the usual way ---- */

FORKED

FIXTURE(set_up, tear_down)

TEST(it_is_run_when_somebody_asks)
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

TEST(it_is_run_again_before_they_expire)
{
    answer_token("one", 3);
    use();
    await(told > 0);
    ck_assert_str_eq(use(), "one");
    assert_ready(true, "credentials by sh: for another ");
    answer_token("two", 600);
    await(str_eq(use(), "two"));
    assert_ready(true, "credentials by sh: for another 59");
    ck_assert_uint_eq(runs(), 2);
    ck_assert_uint_eq(told, 1); /* nobody waited */
    ck_assert_uint_eq(times_logged("why=expiring"), 1);
}

TEST(expired_ones_stay_in_use_while_it_runs)
{
    answer_token("one", 1);
    use();
    await(told > 0);
    write_file("wait", "");
    await(runs() == 2);
    cleanup(mem_free_ptr) char *line = NULL;
    do {
        free(line);
        turn();
        struct buf b;
        buf_init(&b, 0);
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

/* As gke-gcloud-auth-plugin and others: the same answer until it has expired. */
TEST(one_that_keeps_its_answer_is_not_run_over_and_over)
{
    uint64_t expires_ms = answer_token("one", 3);
    use();
    await(told > 0);
    await(runs() == 2);
    ck_assert_uint_lt(clock_wall_ms(), expires_ms);
    await(runs() == 3);
    ck_assert_uint_ge(clock_wall_ms(), expires_ms);
    answer_token("two", 600);
    await(str_eq(use(), "two"));
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
    struct buf b;
    buf_init(&b, 0);
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
