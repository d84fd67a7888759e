/* src/kube/exec_plugin: credentials that the server refuses, and plugins that fail, hang or cannot be started. */
#include "exec_plugin_world.h"

#include "../test.h"

/* ---- files ---- */

static void answer_fails(const char *said)
{
    write_file("answer", "");
    write_file("said", said);
    write_file("status", "3");
}

/* ---- the loop ---- */

/* It fails so, perhaps for the second time already: a slow machine may be past the pause. */
static bool fails_saying(const char *says)
{
    return use() == NULL && strstr(err.message, says) != NULL;
}

/* ---- refused by the server ---- */

FORKED

FIXTURE(set_up, tear_down)

TEST(refused_it_is_run_again_once)
{
    exec_plugin_refused(plugin); /* none is there that could have been refused */
    ck_assert_uint_eq(runs(), 0);
    answer_with("\"token\":\"one\"");
    use();
    await(told == 1);
    write_file("wait", "");
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
    make_plugin(0, 600);
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
    ck_assert_uint_ge(clock_mono_ms() - began_ms, 3 * 600);
}

/* ---- failures ---- */

static const struct {
    const char *answer, *said, *status, *says;
} failures[] = {
    {"", "Unable to locate credentials\n", "255", "sh: exit status 255; it says: Unable to locate credentials"},
    {"", "", "1", "sh: exit status 1"},
    {"Please sign in at https://x/device\n", "", "0", "sh: its answer cannot be used: not JSON (35 bytes)"},
    {"", "", "0", "sh: its answer cannot be used: it printed nothing"},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{}}", "", "0",
     "neither a token nor a client certificate"},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\",\"status\":{\"token\":\"t\"}}", "", "0",
     "its apiVersion is " V1 "beta1: the kubeconfig asks for " V1},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"hunter2\"}}", "but", "9",
     "sh: exit status 9; it says: but"},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
     "\",\"status\":{\"clientCertificateData\":\"hunter2\",\"clientKeyData\":\"hunter2\"}}",
     "", "0", "client certificate"},
};

TEST_EACH(failures_are_said_and_it_is_run_again, array_len(failures))
{
    write_file("answer", failures[_i].answer);
    write_file("said", failures[_i].said);
    write_file("status", failures[_i].status);
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
    answer_token("one", 2);
    use();
    await(told == 1);
    answer_fails("no luck");
    await(times_logged("in_use=\"the last ones\"") > 0);
    ck_assert_str_eq(use(), "one");
    ck_assert_uint_eq(told, 1);
    answer_token("two", 600);
    await(str_eq(use(), "two"));
}

TEST(one_that_cannot_be_started)
{
    char nowhere[] = "/nowhere/aws", hint[] = "Get it\nfrom there.";
    exec.command = nowhere;
    exec.install_hint = hint;
    exec_plugin_free(plugin);
    make_plugin(0, 1000);
    ck_assert_ptr_null(use());
    ck_assert_msg(str_has_prefix(err.message, "the credential plugin: /nowhere/aws cannot be started: No such file or "
                                              "directory; the kubeconfig says: Get it from there.; run again in 1 s"),
                  "%s", err.message);
    await(told == 1); /* for those who were told to wait before */
    exec.command = shell;
    exec.install_hint = NULL;
}

TEST(one_that_hangs_is_ended)
{
    exec_plugin_free(plugin);
    make_plugin(150, PAUSE_MS);
    write_file("wait", "");
    answer_with("\"token\":\"one\"");
    ck_assert_ptr_null(use());
    await(told == 1);
    await(fails_saying("the credential plugin sh: still running after 0.15 s; run again in "));
    exec_plugin_free(plugin);
    plugin = NULL;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

TEST(freed_while_it_runs)
{
    write_file("wait", "");
    answer_with("\"token\":\"one\"");
    ck_assert_ptr_null(use());
    await(runs() == 1);
    exec_plugin_free(plugin);
    plugin = NULL; /* tear_down: no child is left */
}
