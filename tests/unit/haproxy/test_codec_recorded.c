/* src/haproxy/dataplane/codec*: what real Data Plane APIs answered, read and written back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "../json_text.h"
#include "../test.h"
#include "servers/change/diff.h"

#define RECORDINGS "../shared/data/dataplane/"

static int read_servers(const char *json, struct backend *b, struct error *err)
{
    return codec_read_servers(json, strlen(json), b, err);
}

/* Read, and written back unchanged, is what was read, with the weight made explicit. */
static size_t round_trip_servers(const char *body)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    ck_assert_msg(read_servers(body, &b, &err) == 0, "%s\n%s", body, err.message);
    size_t count = b.server_count;
    for (size_t i = 0; i < count; i++) {
        struct buf out;
        buf_init(&out, 0);
        ck_assert_msg(codec_write_server(&b.servers[i], &out, &err) == 0, "%s", err.message);
        if (b.servers[i].weight >= 0)
            assert_json(buf_str(&out), b.servers[i].json);
        else
            ck_assert_ptr_nonnull(strstr(buf_str(&out), "\"weight\":100"));
        buf_fini(&out);
    }
    backend_fini(&b);
    return count;
}

static void round_trip_backend(const char *body)
{
    struct backend b;
    struct error err = {0};
    struct buf out;
    backend_init(&b);
    buf_init(&out, 0);
    ck_assert_msg(codec_read_backend(body, strlen(body), &b, &err) == 0, "%s\n%s", body, err.message);
    const struct backend_settings settings = {.balance = b.balance[0] != '\0' ? b.balance : NULL,
                                              .adv_check = b.adv_check[0] != '\0' ? b.adv_check : NULL};
    ck_assert_int_eq(codec_write_backend(&b, &settings, NULL, 0, &out, &err), 0);
    assert_json(buf_str(&out), body);
    backend_fini(&b);
    buf_fini(&out);
}

struct tally {
    size_t servers, backends, templates, transactions, reloads, errors;
};

static void try_success(const char *method, const char *path, const char *body, struct tally *n)
{
    struct error err = {0};
    struct backend b;
    struct codec_reload_status r = {0};
    struct codec_transaction *list = NULL, one = {0};
    size_t count = 0, len = strlen(body);
    bool get = str_eq(method, "GET"), inside = strstr(path, "/configuration/backends/") != NULL;
    backend_init(&b);
    if (strstr(path, "/runtime/") != NULL || strstr(path, "/raw") != NULL)
        return;
    if (get && inside && strstr(path, "/servers") != NULL && strstr(path, "/servers/") == NULL) {
        n->servers += round_trip_servers(body);
    } else if (get && inside && strstr(path, "/server_templates") != NULL) {
        ck_assert_int_eq(codec_read_templates(body, len, &b, &err), 0);
        n->templates += b.template_count;
    } else if (get && inside && strstr(path, "/servers/") == NULL) {
        round_trip_backend(body);
        n->backends++;
    } else if (get && strstr(path, "/transactions") != NULL && strstr(path, "/transactions/") == NULL) {
        ck_assert_int_eq(codec_read_transactions(body, len, &list, &count, &err), 0);
        codec_transactions_free(list, count);
        n->transactions += count;
    } else if (strstr(path, "/transactions") != NULL && !str_eq(method, "DELETE")) {
        ck_assert_msg(codec_read_transaction(body, len, &one, &err) == 0, "%s", err.message);
        codec_transaction_fini(&one);
        n->transactions++;
    } else if (get && strstr(path, "/reloads/") != NULL) {
        ck_assert_msg(codec_read_reload(body, len, &r, &err) == 0, "%s", err.message);
        codec_reload_fini(&r);
        n->reloads++;
    }
    backend_fini(&b);
}

static void try_line(yyjson_val *line, struct tally *n)
{
    const char *method = yyjson_get_str(yyjson_obj_get(line, "method"));
    const char *path = yyjson_get_str(yyjson_obj_get(line, "path"));
    int status = yyjson_get_int(yyjson_obj_get(line, "status"));
    if (method == NULL)
        return;
    char *body = yyjson_val_write(yyjson_obj_get(line, "response"), 0, NULL);
    if (status < 300) {
        try_success(method, path, body, n);
    } else {
        char text[512];
        const char *message = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(line, "response"), "message"));
        codec_error_message(body, strlen(body), text, sizeof(text));
        ck_assert(text[0] != '\0' && strncmp(text, message, 10) == 0 && strchr(text, '\n') == NULL);
        cleanup(mem_free_ptr) char *refusal = codec_refusal(body, strlen(body));
        ck_assert_ptr_nonnull(refusal);
        ck_assert_int_eq(strncmp(refusal, message, CODEC_MAX_REFUSAL_BYTES), 0);
        n->errors++;
    }
    free(body);
}

TEST_EACH(recorded_answers, 3)
{
    static const char *const names[] = {"3.0.15-haproxy-2.8.jsonl", "3.4.0-haproxy-3.2.jsonl",
                                        "3.4.0-haproxy-2.6-master-socket.jsonl"};
    char *path = mem_printf("%s%s", RECORDINGS, names[_i]);
    struct tally n = {0};
    struct buf text;
    buf_init(&text, 0);
    if (buf_read_file(&text, path) != 0) {
        fprintf(stderr, "SKIPPED: recorded answers not found: %s\n", path);
        free(path);
        return;
    }
    char *at = text.data, *line;
    while ((line = strsep(&at, "\n")) != NULL) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        if (doc != NULL)
            try_line(yyjson_doc_get_root(doc), &n);
        yyjson_doc_free(doc);
    }
    /* each form was met: otherwise the file, or this test, is not what it says */
    ck_assert_uint_ge(n.servers, 5);
    ck_assert_uint_ge(n.backends, 2);
    ck_assert_uint_ge(n.templates, 1);
    ck_assert_uint_ge(n.transactions, 30);
    ck_assert_uint_ge(n.reloads, 3);
    ck_assert_uint_ge(n.errors, 20);
    free(path);
    buf_fini(&text);
}
