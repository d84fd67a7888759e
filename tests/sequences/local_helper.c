/* The functions of haproxy/local/helper.h: one request at a time, carried out and answered at moments of its own. */
#include "local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/helper.h"
#include "world.h"

#define RELOAD_WATCHED_US 60000000 /* by the daemon, before it asks for another one */
#define CHECK_US 30000             /* `haproxy -c` */
#define CHECK_LIMIT_US 60000000

/* ---- requests ---- */

static void request_free(struct local_request *r)
{
    if (r == NULL)
        return;
    free((char *)(uintptr_t)r->ask.bytes);
    buf_fini(&r->data);
    free(r);
}

static void helper_clear(struct local_helper *h)
{
    while (h->first != NULL) {
        struct local_request *r = h->first;
        h->first = r->next;
        request_free(r);
    }
}

void local_fini(struct api *a)
{
    helper_clear(&a->local.file);
    helper_clear(&a->local.commands);
    for (size_t i = 0; i < array_len(a->local.orphans); i++)
        request_free(a->local.orphans[i]);
    free(a->local.text);
}

/* What was begun is done, and until then the lock is held. */
static void helper_end(struct local_helper *h, struct local_request **orphan)
{
    struct local_request *r = h->first;
    if (r != NULL && r->begun && r->at_us != 0 && !r->carried_out && *orphan == NULL) {
        h->first = r->next;
        r->answered = NULL;
        *orphan = r;
    }
    helper_clear(h);
}

void local_drop(struct api *a)
{
    helper_end(&a->local.file, &a->local.orphans[0]);
    helper_end(&a->local.commands, &a->local.orphans[1]);
    a->local.held = false;
}

static bool is_write(const struct local_ask *k)
{
    return k->kind == LOCAL_KIND_WRITE_CONFIG && (k->flags & LOCAL_WRITE_ONLY_VALIDATE) == 0;
}

static enum ask ask_of(const struct local_ask *k)
{
    switch (k->kind) {
    case LOCAL_KIND_READ_CONFIG:
        return ASK_READ;
    case LOCAL_KIND_WRITE_CONFIG:
        return (k->flags & LOCAL_WRITE_UNCHECKED) != 0 ? ASK_UPDATE : ASK_COMMIT;
    case LOCAL_KIND_LOCK_CONFIG:
        return ASK_BEGIN;
    case LOCAL_KIND_RELOAD:
        return ASK_RELOADS;
    case LOCAL_KIND_COMMAND: {
        const char *first = local_first_command(k->bytes);
        return str_has_prefix(first, "show ")  ? ASK_RUNTIME
               : str_has_prefix(first, "add ") ? ASK_CHANGE
               : str_has_prefix(first, "del ") ? ASK_DELETE
                                               : ASK_COMMAND;
    }
    default:
        return ASK_LIST;
    }
}

static uint64_t usual_us(enum ask ask)
{
    return ask == ASK_COMMIT ? CHECK_US : ask == ASK_UPDATE ? 5000 : 400;
}

static const char *text_of(const struct local_ask *k)
{
    static const char *const names[] = {
        [LOCAL_KIND_READ_CONFIG] = "read",        [LOCAL_KIND_WRITE_CONFIG] = "write",
        [LOCAL_KIND_LOCK_CONFIG] = "lock",        [LOCAL_KIND_RELOAD] = "reload",
        [LOCAL_KIND_NOTE_LOADED] = "note loaded", [LOCAL_KIND_RELEASE_CONFIG] = "release"};
    return k->kind == LOCAL_KIND_COMMAND ? k->bytes : names[k->kind] != NULL ? names[k->kind] : "another";
}

void local_fail(struct local_request *r, int number, const char *why)
{
    r->answer.status = LOCAL_FAILED;
    r->answer.error_number = number;
    r->answer.message = why;
}

/* A socket whose other end closes has said all that it says; a file is written or is not. */
static void befall(struct api *a, struct local_request *r, enum fault_mode mode)
{
    bool talks = r->ask.kind == LOCAL_KIND_COMMAND || r->ask.kind == LOCAL_KIND_RELOAD;
    uint64_t limit = ask_of(&r->ask) == ASK_COMMIT ? CHECK_LIMIT_US : TIMEOUT_US, now = a->world->now_us;
    if (mode == FAULT_SLOW) {
        r->at_us = now + 1500000;
        r->answer_us = now + 3000000;
    } else if (mode == FAULT_400) {
        r->refused = true;
    } else if (mode == FAULT_DEAF) {
        r->deaf = true;
    } else if (talks && (mode == FAULT_RESET || mode == FAULT_LOST)) {
        r->quiet = true;
        r->at_us = mode == FAULT_LOST ? r->at_us : 0;
        if (r->ask.kind == LOCAL_KIND_COMMAND)
            local_fail(r, ECONNRESET, "no answer");
    } else if (mode == FAULT_HUNG || mode == FAULT_LATE) {
        r->at_us = !talks ? 0 : mode == FAULT_LATE ? now + limit - 1 : r->at_us;
        r->answer_us = now + limit;
        local_fail(r, ETIMEDOUT, "no end");
    } else {
        r->at_us = 0;
        local_fail(r, talks ? ECONNREFUSED : ENOSPC, talks ? "Connection refused" : "No space left on device");
    }
    if (mode == FAULT_400 || mode == FAULT_DEAF)
        a->refused_us = now;
    if (r->ask.kind == LOCAL_KIND_RELOAD && mode != FAULT_SLOW)
        a->local.excused_us = now + RELOAD_WATCHED_US;
    if (talks && r->answer_us > a->local.talk_troubled_us)
        a->local.talk_troubled_us = r->answer_us;
    if (r->answer_us > a->troubled_us)
        a->troubled_us = r->answer_us;
}

static void begin(struct local_helper *h)
{
    struct api *a = h->api;
    struct local_request *r = h->first;
    enum fault_mode mode;
    if (r == NULL || r->begun)
        return;
    enum ask ask = ask_of(&r->ask);
    r->begun = true;
    r->at_us = a->world->now_us + usual_us(ask) / 2;
    r->answer_us = a->world->now_us + usual_us(ask);
    if (r->ask.kind != LOCAL_KIND_RELEASE_CONFIG && api_take_fault(a, ask, &mode))
        befall(a, r, mode);
    world_say(a->world, "  %s <- %s", a->url, text_of(&r->ask));
}

static struct local_request *ask(struct local_helper *h, const struct local_ask *k, local_answered *answered, void *arg)
{
    struct api *a = h->api;
    struct local_request *r = mem_alloc(sizeof(*r)), **last = &h->first;
    bool changes = ask_of(k) == ASK_CHANGE || ask_of(k) == ASK_DELETE || ask_of(k) == ASK_COMMAND || is_write(k) ||
                   k->kind == LOCAL_KIND_RELOAD;
    a->local.reads = !is_write(k) && (a->local.reads || k->kind == LOCAL_KIND_READ_CONFIG);
    check_sent(a, changes ? "PUT" : "GET", text_of(k));
    bool told_before = a->whole.tells_early && is_write(k);
    if (k->kind == LOCAL_KIND_WRITE_CONFIG)
        whole_write_begins(a, k->bytes, is_write(k));
    else if (ask_of(k) == ASK_CHANGE && (a->local.file.first == NULL || !is_write(&a->local.file.first->ask)))
        whole_commands_begin(a);
    r->ask = *k;
    r->ask.bytes = mem_strndup(k->bytes, k->len);
    r->decided = k->kind == LOCAL_KIND_WRITE_CONFIG && a->local.lock_answered_us == a->world->now_us
                     ? a->local.lock_decided
                     : clusters_decided(a);
    r->asked_us = told_before ? a->whole.tells_since_us : r->decided.us;
    r->life = a->world->life;
    r->answered = answered;
    r->arg = arg;
    r->takes_back = local_takes_back(a, k);
    while (*last != NULL)
        last = &(*last)->next;
    *last = r;
    begin(h);
    return r;
}
/* ---- answers ---- */

static void note_read(struct api *a, const struct local_request *r)
{
    bool ok = r->answer.status == LOCAL_OK && !r->quiet;
    if (r->ask.kind == LOCAL_KIND_READ_CONFIG && ok)
        a->read_us = a->world->now_us;
    bool info = str_eq(r->ask.bytes, "show info");
    if (ok && info && a->whole.reads_version)
        whole_version_is_known(a);
    a->whole.reads_version = r->ask.kind == LOCAL_KIND_READ_CONFIG || (a->whole.reads_version && !info);
    bool gives_up = str_eq(r->ask.bytes, "show info") && !ok; /* no other backend is asked about either */
    for (size_t b = 0; b < OURS && r->ask.kind == LOCAL_KIND_COMMAND; b++) {
        cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", conf_backends[b]);
        bool asks = str_eq(r->ask.bytes, command);
        gives_up = gives_up || (asks && !ok);
        if (gives_up || asks)
            a->unread[b] = gives_up;
        a->looked[b] = a->looked[b] || (asks && ok && !a->reload_pending);
    }
}

static void answer(struct local_helper *h)
{
    struct api *a = h->api;
    struct local_request *r = h->first;
    h->first = r->next;
    if (r->quiet)
        buf_clear(&r->data);
    else if (r->ask.kind == LOCAL_KIND_RELOAD && r->answer.status == LOCAL_OK && a->world->settings.local == LOCAL_SAYS)
        buf_printf(&r->data, "Success=%d\n--\n%s", !a->local.reload_failed,
                   a->local.reload_failed ? "[ALERT] words of HAProxy\n" : "");
    r->answer.data = buf_str(&r->data);
    r->answer.len = r->data.len;
    r->answer.message = r->answer.message != NULL ? r->answer.message : "";
    note_read(a, r);
    if (r->ask.kind == LOCAL_KIND_RELOAD && (r->answer.status != LOCAL_OK || r->quiet)) {
        a->local.owes = true;
        a->refused_us = a->world->now_us; /* and paused for, as after one that failed */
    }
    if (a->local.was_locked && r->ask.kind == LOCAL_KIND_LOCK_CONFIG && r->answer.status != LOCAL_LOCKED)
        whole_refresh(a->world); /* all is tried anew then */
    if (r->answer.status == LOCAL_LOCKED || r->ask.kind == LOCAL_KIND_LOCK_CONFIG)
        a->local.was_locked = r->answer.status == LOCAL_LOCKED;
    if (r->ask.kind == LOCAL_KIND_LOCK_CONFIG) {
        a->local.lock_decided = r->decided;
        a->local.lock_answered_us = a->world->now_us;
    }
    if (r->ask.kind == LOCAL_KIND_WRITE_CONFIG)
        whole_write_ends(a, r->ask.bytes, r->answer.status == LOCAL_REJECTED,
                         r->answer.status == LOCAL_OK && is_write(&r->ask));
    world_say(a->world, "  %s -> %s: %s %s%.200s", a->url, text_of(&r->ask), local_status_name(r->answer.status),
              r->answer.message, r->ask.kind == LOCAL_KIND_READ_CONFIG ? "" : r->answer.data);
    begin(h);
    if (r->answered != NULL)
        r->answered(r->arg, &r->answer);
    request_free(r);
}

static uint64_t next_of(const struct local_request *r)
{
    if (r == NULL)
        return UINT64_MAX;
    return r->at_us != 0 && !r->carried_out ? r->at_us : r->answer_us;
}

uint64_t local_next_us(const struct api *a)
{
    uint64_t next = UINT64_MAX;
    const uint64_t all[] = {next_of(a->local.file.first), next_of(a->local.commands.first),
                            next_of(a->local.orphans[0]), next_of(a->local.orphans[1])};
    for (size_t i = 0; i < array_len(all); i++)
        next = all[i] < next ? all[i] : next;
    return next;
}

static bool happens(struct local_helper *h)
{
    struct api *a = h->api;
    struct local_request *r = h->first;
    if (next_of(r) > a->world->now_us)
        return false;
    if (r->at_us != 0 && !r->carried_out) {
        r->carried_out = true;
        clusters_amid(a, ask_of(&r->ask));
        local_carry_out(a, r);
        return true;
    }
    answer(h);
    return true;
}

bool local_happen(struct api *a)
{
    for (size_t i = 0; i < array_len(a->local.orphans); i++) {
        struct local_request *r = a->local.orphans[i];
        if (r == NULL || r->at_us > a->world->now_us)
            continue;
        local_carry_out(a, r);
        a->troubled_us = a->world->now_us;
        a->local.orphans[i] = NULL;
        request_free(r);
        return true;
    }
    return happens(&a->local.file) || happens(&a->local.commands);
}

/* ---- in place of haproxy/local/helper ---- */

const char *local_status_name(enum local_status s)
{
    static const char *const names[] = {"ok", "rejected", "changed", "locked", "failed", "lost"};
    return names[s];
}

struct local_request *local_read_config(struct local_helper *h, local_answered *answered, void *arg)
{
    return ask(h, &(struct local_ask){.kind = LOCAL_KIND_READ_CONFIG, .bytes = ""}, answered, arg);
}

struct local_request *local_write_config(struct local_helper *h, const char *bytes, size_t len,
                                         const struct local_identity *expected, unsigned flags,
                                         local_answered *answered, void *arg)
{
    struct local_ask k = {.kind = LOCAL_KIND_WRITE_CONFIG, .flags = flags, .bytes = bytes, .len = len};
    k.expects = expected != NULL;
    if (expected != NULL)
        k.expected = *expected;
    return ask(h, &k, answered, arg);
}

struct local_request *local_lock_config(struct local_helper *h, local_answered *answered, void *arg)
{
    return ask(h, &(struct local_ask){.kind = LOCAL_KIND_LOCK_CONFIG, .bytes = ""}, answered, arg);
}

void local_release_config(struct local_helper *h)
{
    (void)ask(h, &(struct local_ask){.kind = LOCAL_KIND_RELEASE_CONFIG, .bytes = ""}, NULL, NULL);
}

struct local_request *local_note_loaded(struct local_helper *h, const struct local_identity *is,
                                        local_answered *answered, void *arg)
{
    const struct local_ask k = {.kind = LOCAL_KIND_NOTE_LOADED, .bytes = "", .expects = true, .expected = *is};
    return ask(h, &k, answered, arg);
}

struct local_request *local_command(struct local_helper *h, enum local_socket socket, const char *command,
                                    local_answered *answered, void *arg)
{
    const struct local_ask k = {.kind = LOCAL_KIND_COMMAND, .where = socket, .bytes = command, .len = strlen(command)};
    return ask(h, &k, answered, arg);
}

struct local_request *local_reload(struct local_helper *h, local_answered *answered, void *arg)
{
    return ask(h, &(struct local_ask){.kind = LOCAL_KIND_RELOAD, .bytes = ""}, answered, arg);
}

void local_request_cancel(struct local_request *r)
{
    if (r != NULL)
        r->answered = NULL;
}

/* Files beside it: no stream has any. */
#define NO_FILES(h) (ask((h), &(struct local_ask){.kind = LOCAL_KIND_PUT_FILE, .bytes = ""}, answered, arg))

struct local_request *local_put_file(struct local_helper *h, unsigned folder, const char *name, const char *bytes,
                                     size_t len, local_answered *answered, void *arg)
{
    (void)folder, (void)name, (void)bytes, (void)len;
    return NO_FILES(h);
}

struct local_request *local_delete_file(struct local_helper *h, unsigned folder, const char *name,
                                        local_answered *answered, void *arg)
{
    (void)folder, (void)name;
    return NO_FILES(h);
}

struct local_request *local_read_folder_file(struct local_helper *h, unsigned folder, const char *name,
                                             local_answered *answered, void *arg)
{
    (void)folder, (void)name;
    return NO_FILES(h);
}
