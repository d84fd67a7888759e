#include "kube/event_object.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/utf8.h"

#define TIME_BYTES 40u
#define LAST_SECOND 253402300799u /* of the year 9999, the last one that RFC 3339 can say */

static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, yyjson_mut_val *value)
{
    if (!yyjson_mut_obj_put(object, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory */
}

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text)
{
    if (text != NULL)
        put(doc, object, key, yyjson_mut_strcpy(doc, text));
}

static yyjson_mut_val *put_object(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    put(doc, to, key, object);
    return object;
}

/* Kubernetes' Time: whole seconds. */
static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, uint64_t wall_ms)
{
    uint64_t second = wall_ms / 1000u;
    time_t t = (time_t)(second > LAST_SECOND ? LAST_SECOND : second);
    char text[TIME_BYTES];
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    put_text(doc, object, key, text);
}

static yyjson_mut_doc *begin(void)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (doc == NULL)
        abort();
    yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    return doc;
}

static char *finish(yyjson_mut_doc *doc)
{
    /* What others chose is well-formed by event_message, or was checked when it was read; where it is not after all, the API
     * says so, and nothing ends here. */
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
    yyjson_mut_doc_free(doc);
    if (text == NULL)
        abort();
    return text;
}

/* What is said of each occurrence. */
static void put_latest(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct event_object *e)
{
    put(doc, root, "count", yyjson_mut_uint(doc, e->count));
    put_time(doc, root, "lastTimestamp", e->last_ms);
    put_text(doc, root, "message", e->message);
}

char *event_encode_new(const struct event_object *e)
{
    yyjson_mut_doc *doc = begin();
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    put_text(doc, root, "apiVersion", "v1");
    put_text(doc, root, "kind", "Event");
    yyjson_mut_val *metadata = put_object(doc, root, "metadata");
    put_text(doc, metadata, "namespace", e->namespace);
    put_text(doc, metadata, "name", e->name);
    yyjson_mut_val *about = put_object(doc, root, "involvedObject");
    put_text(doc, about, "apiVersion", "v1");
    put_text(doc, about, "kind", "Service");
    put_text(doc, about, "namespace", e->namespace);
    put_text(doc, about, "name", e->service);
    put_text(doc, about, "uid", e->service_uid);
    put_text(doc, root, "type", e->warning ? "Warning" : "Normal");
    put_text(doc, root, "reason", e->reason);
    put_latest(doc, root, e);
    put_time(doc, root, "firstTimestamp", e->first_ms);
    yyjson_mut_val *source = put_object(doc, root, "source");
    put_text(doc, source, "component", EVENT_COMPONENT);
    put_text(doc, source, "host", e->host);
    put_text(doc, root, "reportingComponent", EVENT_COMPONENT);
    put_text(doc, root, "reportingInstance", e->host);
    return finish(doc);
}

char *event_encode_again(const struct event_object *e)
{
    yyjson_mut_doc *doc = begin();
    put_latest(doc, yyjson_mut_doc_get_root(doc), e);
    return finish(doc);
}

/* A character of others: as it is, or what stands for one that no line should have. *ret_taken: bytes of it at s. */
static size_t shown(const char *s, const char **ret, size_t *ret_taken)
{
    uint32_t c = 0;
    size_t len = utf8_decode(s, &c);
    *ret_taken = len > 0 ? len : 1;
    bool is_space = len > 0 && (c == '\n' || c == '\t' || c == '\r');
    bool as_it_is = len > 0 && utf8_is_shown(c);
    *ret = as_it_is ? s : is_space ? " " : "?";
    return as_it_is ? len : 1;
}

char *event_message(const char *text)
{
    struct buf b;
    size_t whole = 0; /* where "..." would still fit behind */
    buf_init(&b, 0);
    for (size_t taken; *text != '\0'; text += taken) {
        const char *bytes;
        size_t len = shown(text, &bytes, &taken);
        if (b.len + len > EVENT_MESSAGE_MAX_BYTES) {
            b.len = whole;
            b.data[whole] = '\0';
            buf_add(&b, "...");
            break;
        }
        buf_addn(&b, bytes, len);
        if (b.len <= EVENT_MESSAGE_MAX_BYTES - 3)
            whole = b.len;
    }
    return buf_take(&b);
}
