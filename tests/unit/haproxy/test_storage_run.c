/* src/haproxy/dataplane/storage_run: every ending of a certificate that HAProxy is sent (maps: test_storage.c). */
#include "haproxy/dataplane/storage_run.h"
#include "haproxy/storage_files.h"
#include "net/pem.h"
#include "txn_play.h"

#include "../certs.h"

static struct storage_files files;
static char *pem;

static void setup(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cleanup(mem_free_ptr) char *certificate = certs_cert_pem(key), *secret = certs_key_pem(key, NULL);
    EVP_PKEY_free(key);
    pem = mem_printf("%s%s", certificate, secret);
    ck_assert_int_eq(storage_files_add(&files, STORAGE_CERTIFICATE, "a.b.pem", pem, strlen(pem), &flaw), 0);
}

static void teardown(void)
{
    storage_files_fini(&files);
    free(pem);
}

/* F where it is stored, L whether it runs, T sent, R read back. */
static char letter_of_run(const struct storage_action *x)
{
    static const char stored[] = "/storage/ssl_certificates/a_b.pem";
    if (str_eq(x->method, "PUT")) {
        ck_assert_str_eq(x->path, stored); /* not skip_reload */
        ck_assert_str_eq(x->type, "text/plain");
        ck_assert_uint_eq(x->body_len, strlen(pem));
        ck_assert_mem_eq(x->body, pem, x->body_len);
        return 'T';
    }
    ck_assert_str_eq(x->method, "GET");
    if (str_eq(x->path, stored))
        return 'F';
    ck_assert_str_eq(x->path, "/runtime/ssl_certs/%2Fetc%2Fssl%2Fa_b.pem");
    return 'R';
}

/* As make_reply has them; "own", "other": with that fingerprint, "file": with the path, "202R": with a reload. */
static void make_answer(struct reply *r, const char *word, char **body)
{
    bool own = str_eq(word, "own"), shows = own || str_eq(word, "other"), file = str_eq(word, "file");
    const struct pem_identity identity = pem_identify(pem);
    make_reply(r, shows || file ? "200" : word, '?', "");
    if (shows)
        *body = mem_printf("{\"sha1_finger_print\":\"%s\"}", own ? identity.sha1 : "00");
    else
        *body = mem_strdup(file ? "{\"file\":\"/etc/ssl/a_b.pem\"}" : r->a.body);
    r->a.body = *body;
    r->a.body_len = strlen(*body);
    r->a.reload_id = word[strlen(word) - 1] == 'R' ? "2026-11-21-4" : NULL;
}

struct row {
    const char *script, *trace, *why; /* NULL: HAProxy has it */
};

static const struct row rows[] = {
    {"file other 200 own", "FRTR", NULL},
    {"file own 200 own", "FRTR", NULL}, /* what is behind its first certificate may be another */
    {"file other 200 other", "FRTR", "HAProxy shows another certificate"},
    {"file other 202R", "FRT", "HAProxy did not take it from the Data Plane API"},
    {"file other 500", "FRT", "updating HAProxy: HTTP 500"},
    {"file other lost", "FRT", "updating HAProxy: lost"},
    {"file 404", "FR", "HAProxy has none by its path, or this Data Plane API is older than 3.2"},
    {"file 500", "FR", "reading what HAProxy has: HTTP 500"},
    {"file other 200 404", "FRTR", "reading what HAProxy has: HTTP 404"},
    {"file other 200 200", "FRTR", "the certificate that runs"},
    {"404", "F", "finding it: HTTP 404"},
    {"200", "F", "the certificate"},
    {"own", "F", "file is missing"},
};

FIXTURE(setup, teardown)

TEST_EACH(every_ending, array_len(rows))
{
    const struct row *row = &rows[_i];
    cleanup(storage_run_fini) struct storage_run r;
    struct error err = {0};
    cleanup(mem_free_ptr) char *words = mem_strdup(row->script);
    char *rest = words;
    memset(trace, 0, sizeof(trace));
    storage_run_init(&r);
    ck_assert_int_eq(storage_run_check(&r, &files.list[0], &err), 0);
    struct storage_action x = storage_run_start(&r, &files.list[0], false);
    for (size_t asked = 0; x.send; asked++) {
        struct reply reply;
        cleanup(mem_free_ptr) char *body = NULL;
        trace[asked] = letter_of_run(&x);
        const char *word = strsep(&rest, " ");
        ck_assert_msg(word != NULL, "%s: no answer left after %s", row->script, trace);
        make_answer(&reply, word, &body);
        x = storage_run_answer(&r, &reply.a);
    }
    ck_assert_ptr_null(rest);
    ck_assert_str_eq(trace, row->trace);
    ck_assert_msg((r.why.kind == ERROR_NONE) == (row->why == NULL), "%s: %s", row->script, r.why.message);
    ck_assert_msg(row->why == NULL || strstr(r.why.message, row->why) != NULL, "%s: %s", row->script, r.why.message);
    ck_assert_ptr_null(r.file); /* not borrowed any longer */
}

/* What is shown of a map with the entries a 1, b 2, behind two that make it long enough for an API to replace it. NULL: they are
 * those. */
static const struct {
    const char *shown, *why;
} maps[] = {
    {"[{\"id\":\"0x1\",\"key\":\"a\",\"value\":\"1\"},{\"id\":\"0x2\",\"key\":\"b\",\"value\":\"2\"}]", NULL},
    {"[{\"key\":\"b\",\"value\":\"2\"},{\"key\":\"a\",\"value\":\"1\"}]", "HAProxy has other entries (4, not 4"},
    {"[{\"key\":\"a\",\"value\":\"1\"},{\"key\":\"b\",\"value\":\"3\"}]", "HAProxy has other entries"},
    {"[{\"key\":\"a\",\"value\":\"1\"}]", "HAProxy has other entries (3, not 4"},
    {"[]", "HAProxy has other entries (2, not 4"},
    {"{}", "the list of map entries"},
    {"", "the list of map entries"},
    {"[1]", "an entry"},
    {"[{\"key\":\"a\",\"value\":1}]", "value"},
    {"[{\"key\":2,\"value\":\"1\"}]", "key"},
};

TEST_EACH(what_haproxy_shows_of_a_map, array_len(maps))
{
    cleanup(storage_run_fini) struct storage_run r;
    cleanup(storage_files_fini) struct storage_files one = {0};
    struct reply told, shown;
    cleanup(mem_free_ptr) char *map = mem_printf("l %04200d\nm %04200d\na 1\nb 2\n", 0, 0);
    cleanup(mem_free_ptr) char *first =
        mem_printf("[{\"key\":\"l\",\"value\":\"%04200d\"},{\"key\":\"m\",\"value\":\"%04200d\"}", 0, 0);
    const char *rest = maps[_i].shown, *between = rest[0] == '[' && rest[1] != ']' ? "," : "";
    cleanup(mem_free_ptr) char *all =
        rest[0] == '[' ? mem_printf("%s%s%s", first, between, rest + 1) : mem_strdup(rest);
    ck_assert_int_eq(storage_files_add(&one, STORAGE_MAP, "a.map", map, strlen(map), &flaw), 0);
    storage_run_init(&r);
    make_reply(&told, "200", '?', "");
    make_reply(&shown, "200", '?', "");
    shown.a.body = all;
    shown.a.body_len = strlen(all);
    ck_assert_str_eq(storage_run_start(&r, &one.list[0], false).path, "/runtime/maps/a.map");
    ck_assert_str_eq(storage_run_answer(&r, &told.a).path, "/runtime/maps/a.map/entries");
    ck_assert(!storage_run_answer(&r, &shown.a).send);
    ck_assert_msg((r.why.kind == ERROR_NONE) == (maps[_i].why == NULL), "%s", r.why.message);
    ck_assert_msg(maps[_i].why == NULL || strstr(r.why.message, maps[_i].why) != NULL, "%s", r.why.message);
}
