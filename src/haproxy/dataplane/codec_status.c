#include "haproxy/dataplane/codec.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "json/read.h"

void codec_transaction_fini(struct codec_transaction *t)
{
    free(t->id);
    free(t->status);
    *t = (struct codec_transaction){0};
}

void codec_transactions_free(struct codec_transaction *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        codec_transaction_fini(&list[i]);
    free(list);
}

static int read_transaction(yyjson_val *val, struct codec_transaction *ret, struct error *err)
{
    const char *id, *status;
    int64_t version;
    if (json_is_object(val, "the transaction", err) != 0)
        return -1;
    if (json_need_string(val, "id", &id, err) != 0 || json_get_string(val, "status", &status, err) != 0 ||
        json_get_int(val, "_version", 0, INT64_MAX, -1, &version, err) != 0)
        return error_prefix(err, "the transaction");
    ret->version = version;
    ret->id = mem_strdup(id);
    ret->status = mem_strdup(status);
    return 0;
}

int codec_read_transaction(const char *json, size_t len, struct codec_transaction *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the transaction", err);
    return doc == NULL ? -1 : read_transaction(yyjson_doc_get_root(doc), ret, err);
}

int codec_read_transactions(const char *json, size_t len, struct codec_transaction **ret, size_t *ret_count,
                            struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the list of transactions", err);
    yyjson_val *root, *val;
    if (json_list_of(doc, "the list of transactions", &root, err) != 0)
        return -1;
    struct codec_transaction *list = mem_array(yyjson_arr_size(root), sizeof(*list));
    size_t i, all;
    yyjson_arr_foreach (root, i, all, val) {
        if (read_transaction(val, &list[i], err) != 0) {
            codec_transactions_free(list, i);
            return -1;
        }
    }
    *ret = list;
    *ret_count = yyjson_arr_size(root);
    return 0;
}

int codec_read_reload(const char *json, size_t len, struct codec_reload_status *ret, struct error *err)
{
    static const char *const names[] = {
        [RELOAD_IN_PROGRESS] = "in_progress", [RELOAD_SUCCEEDED] = "succeeded", [RELOAD_FAILED] = "failed"};
    const char *status, *response;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the reload", err);
    yyjson_val *root;
    if (json_object_of(doc, "the reload", &root, err) != 0)
        return -1;
    if (json_need_string(root, "status", &status, err) != 0 || json_get_string(root, "response", &response, err) != 0)
        return error_prefix(err, "the reload");
    for (size_t i = 0; i < array_len(names); i++) {
        if (str_eq(status, names[i])) {
            ret->state = (enum codec_reload)i;
            ret->response = mem_strdup(response);
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "the reload: status is \"%s\", not in_progress, succeeded or failed", status);
}

void codec_reload_fini(struct codec_reload_status *r)
{
    free(r->response);
    *r = (struct codec_reload_status){0};
}

/* Whether a script or a style sheet begins at `tag`: no message for people. */
static bool is_silent(const char *tag, size_t left)
{
    static const char *const silent[] = {"script", "style"};
    for (size_t k = 0; k < array_len(silent); k++) {
        size_t n = strlen(silent[k]);
        if (left >= n && strncasecmp(tag, silent[k], n) == 0 && (left == n || !isalnum((unsigned char)tag[n])))
            return true;
    }
    return false;
}

/* The last byte of the tag that begins at i, or of the text that it hides. */
static size_t skip_tag(const char *body, size_t len, size_t i)
{
    if (is_silent(body + i + 1, len - i - 1)) {
        const char *close = memmem(body + i + 1, len - i - 1, "</", 2);
        if (close == NULL)
            return len - 1;
        i = (size_t)(close - body);
    }
    const char *end = memchr(body + i, '>', len - i);
    return end != NULL ? (size_t)(end - body) : len - 1;
}

/* Without the tags of a page. ret: max bytes, with the NUL. */
static void excerpt_of(const char *body, size_t len, char *ret, size_t max)
{
    cleanup(buf_fini) struct buf words = {0}, line = {0};
    size_t i = 0;
    while (i < len && isspace((unsigned char)body[i]))
        i++;
    bool markup = i < len && body[i] == '<';
    for (; i < len; i++) {
        bool tag = markup && body[i] == '<';
        if (tag)
            i = skip_tag(body, len, i);
        buf_addn(&words, tag ? " " : body + i, 1);
    }
    text_addn(&line, buf_str(&words), words.len, TEXT_FLAT, max - 1);
    memcpy(ret, buf_str(&line), line.len + 1);
}

char *codec_refusal(const char *body, size_t len)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(body, len, 0, "the answer", NULL);
    const char *message = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "message"));
    return str_empty(message) ? NULL : mem_strndup(message, text_cut(message, CODEC_MAX_REFUSAL_BYTES));
}

bool codec_has_agent(const char *server_json)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(server_json, server_json != NULL ? strlen(server_json) : 0, 0, "the server", NULL);
    bool enabled = false;
    return codec_get_switch(yyjson_doc_get_root(doc), "agent-check", &enabled, NULL) == 0 && enabled;
}

void codec_error_message(const char *body, size_t len, char *ret, size_t max)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(body, len, 0, "the answer", NULL);
    yyjson_val *text = yyjson_obj_get(yyjson_doc_get_root(doc), "message");
    const char *message = yyjson_get_str(text);
    if (message != NULL && message[0] != '\0')
        excerpt_of(message, yyjson_get_len(text), ret, max);
    else
        excerpt_of(body, len, ret, max);
}
