/* src/haproxy/dataplane/client: which credentials are sent, when they are read again, and that no message quotes them. */
#include "../folder.h"
#include "dataplane_peer.h"

#define PASSWORD "s3cret-pass"

FORKED

static void open_folder(void)
{
    folder_make();
    setup();
}

static void close_folder(void)
{
    teardown();
    folder_remove();
}

FIXTURE(open_folder, close_folder)

TEST(basic_or_bearer)
{
    secret_set_value(&username, "admin");
    secret_set_value(&password, "adminpwd");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic YWRtaW46YWRtaW5wd2Q=");
    secret_set_value(&token, "t0ken");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Bearer t0ken");
}

/* In place, of the same size as before, with a time of long ago: nothing about the file shows that it changed. */
static void write_unseen(const char *path, const char *text)
{
    write_file(path, text);
    set_mtime(path, 1600000000);
}

TEST(files_are_read_again)
{
    cleanup(mem_free_ptr) char *path = in_folder("password");
    write_file(path, "first\n");
    secret_set_value(&username, "u");
    secret_set_path(&password, path);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpmaXJzdA==");
    write_file(path, "longer-second\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItc2Vjb25k");
    /* a change that cannot be seen: only after a refusal is it read again */
    write_unseen(path, "longer-third.\n");
    ck_assert_int_eq(dataplane_credentials_refused(client), true);
    ck_assert_int_eq(dataplane_credentials_refused(client), false);
    write_unseen(path, "longer-forth.\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItdGhpcmQu");
    ck_assert_int_eq(dataplane_credentials_refused(client), true);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItZm9ydGgu");
    /* unreadable: the old one stays in use */
    ck_assert_int_eq(unlink(path), 0);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItZm9ydGgu");
    ck_assert_int_eq(dataplane_credentials_refused(client), false);
    /* the name too */
    write_file(path, "name");
    secret_set_path(&username, path);
    secret_set_value(&password, "p");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic bmFtZTpw");
}

TEST(after_a_refusal_files_are_read_again_unasked)
{
    static const int refusals[] = {401, 403};
    cleanup(mem_free_ptr) char *path = in_folder("secret");
    secret_set_path(&token, path);
    for (size_t i = 0; i < array_len(refusals); i++) {
        write_unseen(path, "one");
        server.status = refusals[i];
        call("GET", "/a", NULL);
        write_unseen(path, "two");
        server.status = 200;
        call("GET", "/a", NULL);
        ck_assert_str_eq(server.authorization, "Bearer two");
        write_unseen(path, "one");
        call("GET", "/a", NULL);
        ck_assert_str_eq(server.authorization, "Bearer two"); /* not with every request */
        ck_assert(dataplane_credentials_refused(client));
    }
}

/* A proxy was put in front of the API, and taken away again. */
TEST(a_line_turns_from_a_login_to_a_token_and_back)
{
    cleanup(mem_free_ptr) char *path = in_folder("secret");
    secret_set_line(&username, path, "http://h:1", SECRET_USER);
    secret_set_line(&password, path, "http://h:1", SECRET_PASSWORD);
    secret_set_line(&token, path, "http://h:1", SECRET_TOKEN);
    write_file(path, "http://h:1 admin:adminpwd\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic YWRtaW46YWRtaW5wd2Q=");
    write_file(path, "http://h:1 Bearer t0ken\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Bearer t0ken");
    write_file(path, "http://h:1 hunter2\n"); /* nobody's credentials: the old ones stay */
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Bearer t0ken");
    write_file(path, "http://h:1 u:first\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpmaXJzdA==");
    write_file(path, "http://h:1 Bearer t\n");
    ck_assert(dataplane_credentials_refused(client));
    ck_assert(!dataplane_credentials_refused(client));
}

TEST(credentials_that_were_never_readable_are_not_left_out)
{
    secret_set_value(&username, "u");
    secret_set_path(&password, "/nonexistent/password");
    call("GET", "/a", NULL);
    ck_assert_uint_eq(server.requests, 0);
    ck_assert_int_eq(seen.error.kind, ERROR_AUTH);
    ck_assert_msg(strstr(seen.error.message, "password") != NULL &&
                      strstr(seen.error.message, "/nonexistent/password") != NULL,
                  "%s", seen.error.message);
    secret_set_path(&username, "/nonexistent/username");
    secret_set_value(&password, "p");
    call("GET", "/a", NULL);
    ck_assert_ptr_nonnull(
        strstr(seen.error.message, "username for the Data Plane API could not be read from /nonexistent"));
    secret_set_path(&token, "/nonexistent/token");
    call("GET", "/a", NULL);
    ck_assert_ptr_nonnull(strstr(seen.error.message, "/nonexistent/token"));
    ck_assert_uint_eq(server.requests, 0);
}

TEST(no_message_quotes_a_secret)
{
    static const struct {
        int status;
        const char *body, *excerpt;
    } rows[] = {
        {401, "{\"code\":401,\"message\":\"invalid password: " PASSWORD "\"}", "invalid password"},
        {401, "{\"code\":401,\"message\":\"invalid username: x " PASSWORD "\"}", "invalid username"},
        {403, "{\"message\":\"no " PASSWORD PASSWORD "\"}", "no ******"},
        {500, "<p>got " PASSWORD " and t0ken-t0ken.</p>", "got *** and ***."},
        {400, "{\"message\":\"a: b " PASSWORD "\"}", "a: b ***"},
        {401, "{\"code\":401,\"message\":\"unauthorized\"}", "unauthorized"},
    };
    secret_set_value(&username, "admin");
    secret_set_value(&password, PASSWORD);
    secret_set_value(&token, "t0ken-t0ken");
    for (size_t i = 0; i < array_len(rows); i++) {
        server.status = rows[i].status;
        server.body = rows[i].body;
        call("GET", "/a", NULL);
        ck_assert_str_eq(seen.a.excerpt, rows[i].excerpt);
    }
    secret_set_value(&token, "x"); /* as short as can be: everything stays in its place */
    server.status = 400;
    server.body = "{\"message\":\"axbxx\"}";
    call("GET", "/a", NULL);
    ck_assert_str_eq(seen.a.excerpt, "a*b**");
}

/* Two connections to one API: whichever hears the refusal first, the other has new credentials, too. */
TEST(clients_that_share_secrets_each_have_their_own_news)
{
    cleanup(mem_free_ptr) char *path = in_folder("password");
    write_file(path, "first\n");
    secret_set_value(&username, "u");
    secret_set_path(&password, path);
    call("GET", "/a", NULL);
    struct dataplane_client *one = client;
    client = NULL;
    make_client(dataplane_client_url(one), NULL);
    call("GET", "/a", NULL);
    write_file(path, "longer-second\n");
    ck_assert(dataplane_credentials_refused(client));
    ck_assert(dataplane_credentials_refused(one));
    ck_assert(!dataplane_credentials_refused(client));
    ck_assert(!dataplane_credentials_refused(one));
    dataplane_client_free(one);
}
