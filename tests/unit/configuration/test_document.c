/* src/configuration/document: what a source may bring that is no haproxy.cfg, and what of it is handled. */

#include "configuration/document.h"
#include "haproxy/cfg/content.h"

#include "../test.h"

#define BYTES(text) text, sizeof(text) - 1

/* says NULL: it is sent as `sent`. */
static const struct {
    const char *bytes;
    size_t len;
    const char *says, *sent;
} rows[] = {
    {BYTES("global\n maxconn 5\n"), NULL, "global\n maxconn 5\n"},
    {BYTES("global\r\n maxconn 5\r\n"), NULL, "global\n maxconn 5\n"},
    {BYTES("global\n maxconn 5"), NULL, "global\n maxconn 5\n"},
    {BYTES("global\r\n maxconn 5\r"), NULL, "global\n maxconn 5\n"},
    {BYTES(""), "/etc/a.cfg: it is empty: ", NULL},
    {BYTES("\n\n"), "/etc/a.cfg: there is no section ", NULL},
    {BYTES("global\n\n maxc\0onn 5\n"), "/etc/a.cfg: line 3: a NUL character", NULL},
    {BYTES("global\n # \xc3\x28\n"), "/etc/a.cfg: line 2: not UTF-8 (byte 0xc3 in column 4)", NULL},
    {BYTES("global\n # \xc3"), "/etc/a.cfg: line 2: not UTF-8", NULL},
    {BYTES("\xff\xfeg\0l\0"), "/etc/a.cfg: line 1: ", NULL}, /* UTF-16 */
    {BYTES("global\r maxconn 5\r"), "/etc/a.cfg: line 1: a carriage return within the line", NULL},
    {BYTES("\x1f\x8b\x08\0\0"), "/etc/a.cfg: line 1: ", NULL}, /* gzip */
    {BYTES("{\"kind\": \"Secret\"}\n"), "/etc/a.cfg: there is no section ", NULL},
};

TEST_EACH(bytes_of_any_kind, array_len(rows))
{
    struct document *d = document_new(DOCUMENT_FOR_APIS, "/etc/a.cfg", rows[_i].bytes, rows[_i].len, NULL, NULL, &flaw);
    if (rows[_i].says != NULL) {
        ck_assert_ptr_null(d);
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        ck_assert_msg(str_has_prefix(flaw.message, rows[_i].says), "%s", flaw.message);
        return;
    }
    ck_assert_msg(d != NULL, "%s", flaw.message);
    ck_assert_str_eq(d->content->text, rows[_i].sent);
    ck_assert_uint_eq(d->content->len, strlen(rows[_i].sent));
    char hash[DIGEST_SHA256_HEX_BYTES];
    const struct cfg_file *f = cfg_content_file(d->content, &flaw);
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_eq(f->text, d->content->text);
    ck_assert_str_eq(f->sections[0].kind, "global");
    digest_sha256_hex(rows[_i].bytes, rows[_i].len, hash);
    ck_assert_str_eq(d->hash, hash); /* of the user's bytes */
    document_unref(d);
}

/* says NULL: HAProxy gets these bytes. */
static const struct {
    const char *bytes;
    size_t len;
    const char *says;
} own[] = {
    {BYTES("global\r\n maxconn 5"), NULL},
    {BYTES("global\r maxconn 5\r"), NULL},
    {BYTES("global\n.if defined(X)\n maxconn 5\n.endif\n"), NULL},
    {BYTES("defaults\nbackend b\ndefaults\nbackend c\nbackend b\n"), NULL},
    {BYTES("frontend f\ndefaults\nbackend \"b\n"), NULL},
    {BYTES(""), "/etc/a.cfg: it is empty: "},
    {BYTES("{\"kind\": \"Secret\"}\n"), "/etc/a.cfg: there is no section "},
    {BYTES("global\n\n maxc\0onn 5\n"), "/etc/a.cfg: line 3: a NUL character"},
    {BYTES("\xff\xfeg\0l\0"), "/etc/a.cfg: line 1: "},
};

TEST_EACH(bytes_for_a_haproxy_that_reads_them_itself, array_len(own))
{
    struct document *d = document_new(DOCUMENT_FOR_FILE, "/etc/a.cfg", own[_i].bytes, own[_i].len, NULL, NULL, &flaw);
    if (own[_i].says != NULL) {
        ck_assert_ptr_null(d);
        ck_assert_msg(str_has_prefix(flaw.message, own[_i].says), "%s", flaw.message);
        return;
    }
    ck_assert_msg(d != NULL, "%s", flaw.message);
    ck_assert_uint_eq(d->content->len, own[_i].len);
    ck_assert_mem_eq(d->content->text, own[_i].bytes, own[_i].len);
    ck_assert_str_eq(d->hash, d->text_hash);
    document_unref(d);
}

TEST(as_much_as_16_mib)
{
    static const char line[] = "# a comment of 32 bytes, no more\n";
    cleanup(buf_fini) struct buf text = {0};
    buf_add(&text, "global\n");
    while (text.len + strlen(line) <= DOCUMENT_MAX_BYTES)
        buf_add(&text, line);
    while (text.len < DOCUMENT_MAX_BYTES)
        buf_add(&text, "\n");
    struct document *d = document_new(DOCUMENT_FOR_APIS, "/etc/a.cfg", text.data, text.len, NULL, NULL, &flaw);
    ck_assert_msg(d != NULL && d->content->len == text.len, "%s", flaw.message);
    document_unref(d);
    buf_add(&text, "\n");
    ck_assert_ptr_null(document_new(DOCUMENT_FOR_APIS, "/etc/a.cfg", text.data, text.len, NULL, NULL, &flaw));
    ck_assert_str_eq(flaw.message, "/etc/a.cfg: it has 16777217 bytes, and more than 16777216 are not taken");
}
