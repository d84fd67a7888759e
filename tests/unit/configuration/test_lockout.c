/* src/configuration/lockout: what a document must not lack. */

#include "configuration/lockout.h"

#include "../test.h"

#define SOCKET "global\n stats socket /run/a.sock mode 600 level admin\n"
#define USERS "userlist api\n user admin insecure-password secret\n user other password x\n"
#define USER(how) "userlist api\n user admin " how "\n"
#define PROGRAM "program api\n command /usr/bin/dataplaneapi -f /etc/api.yaml\n"
#define OTHER "backend b\n"

/* says NULL: nothing is lacking. */
static const struct {
    const char *is, *wanted, *user, *says;
} rows[] = {
    {SOCKET USERS, SOCKET USERS OTHER, "admin", NULL},
    {SOCKET USERS, USERS OTHER "#\n" SOCKET, "admin", NULL},
    {OTHER, OTHER, "admin", NULL}, /* its users are elsewhere, it has no socket of its own */
    /* the login */
    {USERS, OTHER, "admin", ": userlist api with user admin (line 2); copy"},
    {OTHER USERS, "userlist api\n user other password x\n", "admin", "userlist api with user admin (line 3)"},
    {USERS, "userlist app\n user admin password x\n", "admin", "userlist api with user admin"},
    {USERS, "userlist 'api'\n groups g\n user \"admin\" password new groups g\n", "admin", NULL},
    {USERS, OTHER, "another", NULL},
    {USERS, OTHER, NULL, NULL},
    {USERS "userlist stats\n user admin password y\n", USERS, "admin", "userlist stats with user admin (line 5)"},
    {"backend api\n user admin\n", OTHER, "admin", NULL},
    /* its way to HAProxy */
    {SOCKET, OTHER, NULL, "stats socket /run/a.sock with level admin (line 2)"},
    {SOCKET, "global\n maxconn 1\n", NULL, "stats socket /run/a.sock"},
    {SOCKET, "global\n stats socket /run/b.sock level admin\n", NULL, "stats socket /run/a.sock"},
    {SOCKET, "global\n stats socket /run/a.sock\n", NULL, "with level admin"},
    {SOCKET, "global\n stats socket /run/a.sock level operator\n", NULL, "with level admin"},
    {SOCKET, "global\n stats socket :1\n stats  socket unix@/run/a.sock expose-fd listeners level admin\n", NULL, NULL},
    {"global\n stats socket unix@/run/a.sock\n", "global\n stats socket /run/a.sock\n", NULL, NULL},
    {"global\n stats socket 127.0.0.1:9 level admin\n", OTHER, NULL, NULL},
    {"global\n stats socket :9 level admin\n stats socket /run/b level user\n", OTHER, NULL,
     ": stats socket /run/b (line 3)"},
    {"global\n stats timeout 1m\n stats maxconn 3\n", OTHER, NULL, NULL},
    /* what runs it */
    {PROGRAM, OTHER, NULL, "the program section that runs the Data Plane API (line 2)"},
    {PROGRAM, "program other\n command /opt/dataplaneapi\n", NULL, NULL},
    {PROGRAM, "program api\n command sleep 1\n user dataplaneapi\n", NULL, "the program section"},
    {"program x\n command sleep 1\n", OTHER, NULL, NULL},
    {"global\n master-worker\n", "global\n daemon\n", NULL, "master-worker in global (line 2)"},
    {"global\n master-worker\n", "global\n master-worker no-exit-on-failure\n", NULL, NULL},
    /* all of it */
    {SOCKET USERS PROGRAM, OTHER, "admin",
     "userlist api with user admin (line 4); stats socket /run/a.sock with level admin (line 2); the program section "
     "that runs the Data Plane API (line 7); copy it from there, or set CONFIG_ALLOW_LOCKOUT=true"},
};

/* The login's user has a password there, and another one in the document. */
static const struct {
    const char *is, *wanted, *says, *password;
} passwords[] = {
    {USERS, USER("insecure-password changed"), ": userlist api with user admin and the login's password (line 2); copy",
     "secret"},
    {USERS, USER("groups g insecure-password changed"), "the login's password", "secret"},
    {USERS, USER("insecure-password 'sec'ret"), NULL, "secret"},
    {USERS, USER("insecure-password changed"), NULL, NULL},
    {USERS, USER("password changed"), NULL, "secret"},
    {USERS, USER("insecure-password \"$PASSWORD\""), NULL, "secret"},
    {USERS, USER("insecure-password $PASSWORD"), "the login's password", "secret"},
    {USER("insecure-password other"), USER("insecure-password changed"), NULL, "secret"},
    {USER("password $5$x"), USER("insecure-password changed"), "the login's password", "secret"},
    {USER("password $5$x"), USER("insecure-password secret"), NULL, "secret"},
    {USERS, OTHER, "userlist api with user admin (line 2)", "secret"},
};

static void check_says(const char *is_text, const char *wanted_text, const struct lockout_login *login,
                       const char *says)
{
    cleanup(cfg_file_fini) struct cfg_file is;
    cleanup(cfg_file_fini) struct cfg_file wanted;
    cfg_file_parse(&is, is_text, strlen(is_text));
    cfg_file_parse(&wanted, wanted_text, strlen(wanted_text));
    int status = lockout_check(&is, &wanted, login, &flaw);
    if (says == NULL) {
        ck_assert_msg(status == 0, "%s", flaw.message);
        return;
    }
    ck_assert_msg(status == -1 && flaw.kind == ERROR_INVALID, "nothing is lacking");
    ck_assert_msg(strstr(flaw.message, says) != NULL, "%s", flaw.message);
    ck_assert_msg(strstr(flaw.message, "secret") == NULL, "a password is shown: %s", flaw.message);
    ck_assert_msg(strstr(flaw.message, "changed") == NULL, "a password is shown: %s", flaw.message);
}

TEST_EACH(what_is_lacking_is_named, array_len(rows))
{
    check_says(rows[_i].is, rows[_i].wanted, &(struct lockout_login){rows[_i].user, "secret"}, rows[_i].says);
}

TEST_EACH(another_password_locks_out, array_len(passwords))
{
    check_says(passwords[_i].is, passwords[_i].wanted, &(struct lockout_login){"admin", passwords[_i].password},
               passwords[_i].says);
}
