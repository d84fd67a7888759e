/*
 * JSON of the Data Plane API v3 <-> haproxy/backend. Fields that this daemon does not know are carried along untouched.
 * Errors name the object and the field (ERROR_INVALID).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/driver.h"
#include "haproxy/runtime.h"

struct served;
struct yyjson_doc;
struct yyjson_val;

/* GET .../backends/B: fills name, mode, balance, adv_check, default_send_proxy_v2, json. */
int codec_read_backend(const char *json, size_t len, struct backend *ret, struct error *err) must_check;
/* GET .../backends/B/servers: `[]`, `null`, or an array; fills servers. */
int codec_read_servers(const char *json, size_t len, struct backend *ret, struct error *err) must_check;
/* GET .../backends/B/server_templates; fills templates. */
int codec_read_templates(const char *json, size_t len, struct backend *ret, struct error *err) must_check;
/* GET .../backends?full_section=true, some at a time: an answer has thousands of servers. */
struct codec_list {
    struct yyjson_doc *doc; /* NULL: none was begun */
    struct yyjson_val *at;
    size_t left;
};

int codec_list_begin(struct codec_list *l, const char *json, size_t len, struct error *err) must_check;
/* The next `at_most` of the answer: fills those of the list that it has and that can be understood, all that the three
 * above fill, and sets exists; the others stay as they were. Each has its name. Servers and templates are in the order of
 * the answer, which has them by name: that of the file is lost. False: these were the last. */
bool codec_list_read(struct codec_list *l, struct backend *const *list, size_t count, size_t at_most) must_check;
void codec_list_fini(struct codec_list *l); /* a zeroed one is allowed */

/* The body for POST or PUT of one server: the old object (its json; NULL: it is new) with only the fields of struct
 * backend_server replaced. A weight is always explicit. */
int codec_write_server(const struct backend_server *s, struct buf *out, struct error *err) must_check;
/* The body for POST or PUT of the backend's base fields: what is there, with only the settings replaced. servers: these
 * come with it, for POST of a backend with full_section=true; NULL: the base fields alone. */
int codec_write_backend(const struct backend *actual, const struct backend_settings *settings,
                        const struct backend_server *const *servers, size_t count, struct buf *out,
                        struct error *err) must_check;

/* {"_version":N,"id":"...","status":"..."} */
struct codec_transaction {
    char *id;
    char *status;    /* "in_progress", "failed", "outdated", "success" */
    int64_t version; /* that it was begun at; -1: unknown */
};
int codec_read_transaction(const char *json, size_t len, struct codec_transaction *ret, struct error *err) must_check;
int codec_read_transactions(const char *json, size_t len, struct codec_transaction **ret, size_t *ret_count,
                            struct error *err) must_check;
void codec_transactions_free(struct codec_transaction *list, size_t count);
void codec_transaction_fini(struct codec_transaction *t);

/* GET .../reloads/ID */
enum codec_reload { RELOAD_IN_PROGRESS, RELOAD_SUCCEEDED, RELOAD_FAILED };
struct codec_reload_status {
    enum codec_reload state;
    char *response; /* HAProxy's own words, "" where none */
};
int codec_read_reload(const char *json, size_t len, struct codec_reload_status *ret, struct error *err) must_check;
void codec_reload_fini(struct codec_reload_status *r);

/* GET .../reloads */
int codec_read_reloads(const char *json, size_t len, struct reload_history *ret, struct error *err) must_check;

/* GET .../runtime/backends/B/servers: fills servers, sorted, and sets readable. An address in brackets loses them. */
int codec_read_runtime(const char *json, size_t len, struct runtime *ret, struct error *err) must_check;
/* GET or PUT .../runtime/backends/B/servers/S */
int codec_read_runtime_server(const char *json, size_t len, struct runtime_server *ret, struct error *err) must_check;

#define CODEC_VERSION_BYTES 32
/* GET .../runtime/info: which process answered. */
struct codec_worker {
    int64_t pid;
    int64_t uptime_s;                  /* -1: unknown */
    char version[CODEC_VERSION_BYTES]; /* of HAProxy, "3.2.0-1234567"; "": unknown; cut where it is longer */
};
int codec_read_worker(const char *json, size_t len, struct codec_worker *ret, struct error *err) must_check;

enum codec_served { CODEC_SERVED_FRONTENDS, CODEC_SERVED_BACKENDS, CODEC_SERVED_SERVERS };
/* GET .../stats/native?type=frontend, or of type backend or server: adds them. ERROR_RETRY: HAProxy did not answer. */
int codec_read_served(const char *json, size_t len, enum codec_served of, struct served *ret,
                      struct error *err) must_check;

#define CODEC_MAX_REFUSAL_BYTES 4096
/* What the API says of a request that it refuses, whole but for its end beyond the cap: for a machine to read. NULL:
 * that is no answer of the API's. */
char *codec_refusal(const char *body, size_t len) must_check;

/* Whether an agent may set the server's weight at any moment. server_json: as the API has it, or NULL. */
bool codec_has_agent(const char *server_json);

/* HAProxy's switches, "enabled" or "disabled"; absent, null and "" give false. */
int codec_get_switch(struct yyjson_val *obj, const char *key, bool *ret, struct error *err) must_check;

/* {"code","message"}: the message, or the start of whatever it is, made safe for a log line. max: 8 at least. */
void codec_error_message(const char *body, size_t len, char *ret, size_t max);
