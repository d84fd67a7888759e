/* template/render: where certificates are, in a text that calls them by other names. */
#include "template/render.h"

#include "haproxy/storage_files.h"

#include "../test.h"

static char plain[] = "plain.pem", dots[] = "a.example.pem", no_dots[] = "a_example.pem", ed25519[] = "ed.pem",
            map[] = "m.x.map", stored_map[] = "m_x.map";

static struct storage_file list[] = {
    {.kind = STORAGE_CERTIFICATE, .place = STORAGE_CERTIFICATE, .name = plain, .stored = plain},
    {.kind = STORAGE_CERTIFICATE, .place = STORAGE_CERTIFICATE, .name = dots, .stored = no_dots},
    {.kind = STORAGE_CERTIFICATE, .place = STORAGE_GENERAL, .name = ed25519, .stored = ed25519},
    {.kind = STORAGE_MAP, .place = STORAGE_MAP, .name = map, .stored = stored_map},
};

static const struct {
    const char *text, *expected;
} rows[] = {
    {"", ""},
    {"bind :443 ssl crt /c/plain.pem", "bind :443 ssl crt /c/plain.pem"},
    {"crt /c/a.example.pem crt /c/ed.pem\n", "crt /c/a_example.pem crt /g/ed.pem\n"},
    {"/c/a.example.pem", "/c/a_example.pem"},
    {"crt \"/c/a.example.pem\"", "crt \"/c/a_example.pem\""},
    {"crt /c/ crt /c/", "crt /c/ crt /c/"},
    {"/c//c/a.example.pem", "/c//c/a_example.pem"},
    {"crt /c/a.example.pem.old", "crt /c/a.example.pem.old"},
    {"crt /c/other.example.pem", "crt /c/other.example.pem"},
    {"crt /etc/c/a.example.pem", "crt /etc/c/a.example.pem"},
    {"crt a.example.pem", "crt a.example.pem"},
    {"map(/m/m.x.map) /c/m.x.map", "map(/m/m.x.map) /c/m.x.map"},
};

TEST_EACH(paths_are_those_of_what_is_stored, sizeof(rows) / sizeof(rows[0]))
{
    static const char *const folders[] = {"/m/", "/c/", "/g/"};
    const struct storage_files files = {.list = list, .count = sizeof(list) / sizeof(list[0])};
    struct buf out = {0};
    stored_paths(rows[_i].text, strlen(rows[_i].text), &files, folders, &out);
    ck_assert_str_eq(buf_str(&out), rows[_i].expected);
    buf_fini(&out);
}
