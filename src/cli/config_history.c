#include "cli/config_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/page.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "configuration/store.h"
#include "daemon/config/config_engine.h"
#include "json/write.h"
#include "settings/settings.h"

#define POLL_MS 20

struct store *config_history_open(const struct settings *settings, struct error *err)
{
    if (settings->state_dir != NULL)
        return store_read(settings->state_dir, NULL, err);
    (void)error_set(err, ERROR_INVALID,
                    "STATE_DIR is not set: the daemon keeps its versions in memory alone, until it ends. Set STATE_DIR "
                    "to a folder of its own, for it and for this command");
    return NULL;
}

void config_history_print(const struct store *s, struct page *p)
{
    if (store_paused(s))
        page_flow_line(p, INK_YELLOW, "Paused by its source: nothing is written until that ends.");
    if (store_count(s) == 0)
        page_flow_line(p, INK_PLAIN, "No configuration was applied yet.");
    for (size_t i = 0; i < store_count(s); i++) {
        const struct store_version *v = store_version(s, i);
        char applied[RFC3339_BYTES];
        rfc3339_format(v->applied_ms * 1000, 0, applied);
        page_printf(p, i == 0 ? INK_BOLD : INK_PLAIN, "%u", v->number);
        page_to(p, 6);
        page_printf(p, INK_PLAIN, "%s  %.12s  %zu bytes  %s", applied, v->hash, v->bytes, v->origin);
        page_end_line(p);
        for (size_t k = 0; k < v->target_count; k++) {
            page_to(p, 6);
            page_put(p, INK_DIM, v->targets[k]);
            page_end_line(p);
        }
    }
}

void config_history_print_json(const struct store *s, struct buf *out)
{
    struct yyjson_mut_val *root;
    cleanup(json_free_ptr) struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *versions = json_put_list(doc, root, "versions");
    for (size_t i = 0; i < store_count(s); i++)
        store_put_version(s, i, doc, versions);
    json_put_bool(doc, root, "paused", store_paused(s));
    json_write(doc, true, out);
    buf_add(out, "\n");
}

/* ---- asking the daemon ---- */

static int config_history_put(const char *folder, const char *words, struct error *err)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/" CONFIG_REQUEST_FILE, folder);
    cleanup(mem_free_ptr) char *part = mem_printf("%s.new", path);
    FILE *f = fopen(part, "we");
    bool ok = f != NULL && fprintf(f, "%s\n", words) > 0;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (ok && rename(part, path) == 0)
        return 0;
    (void)error_set(err, ERROR_INVALID, "%s: %m", path);
    unlink(part);
    return -1;
}

/* The version before the one that runs. */
static int config_history_choose(const struct store *s, const char *operand, unsigned *ret, struct error *err)
{
    uint64_t number = 0;
    if (operand != NULL && str_parse_uint(operand, UINT32_MAX, &number) == 0) {
        for (size_t i = 0; i < store_count(s); i++)
            if (store_version(s, i)->number == number) {
                *ret = (unsigned)number;
                return 0;
            }
        return error_set(err, ERROR_INVALID, "there is no version %s; `config history` lists those that are kept",
                         operand);
    }
    if (store_count(s) < 2)
        return error_set(err, ERROR_INVALID, "there is no version before the one that runs");
    *ret = store_version(s, 1)->number;
    return 0;
}

static int config_history_wait(const char *folder, uint64_t timeout_ms, struct error *err)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/" CONFIG_REQUEST_FILE, folder);
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    for (uint64_t until = clock_mono_ms() + timeout_ms; access(path, F_OK) == 0;) {
        if (clock_mono_ms() >= until) {
            unlink(path);
            return error_set(err, ERROR_INVALID, "no running daemon has processed it: is there one with STATE_DIR=%s?",
                             folder);
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

int config_history_ask(const struct settings *settings, const struct command *command, unsigned *ret_number,
                       bool *ret_paused, struct error *err)
{
    bool rollback = command->config == COMMAND_CONFIG_ROLLBACK;
    struct store *s = config_history_open(settings, err);
    if (s == NULL)
        return -1;
    *ret_number = 0;
    int status = rollback ? config_history_choose(s, command->operand, ret_number, err) : 0;
    store_free(s);
    if (status != 0)
        return -1;
    cleanup(mem_free_ptr) char *words =
        rollback ? mem_printf(CONFIG_REQUEST_ROLLBACK " %u", *ret_number) : mem_strdup(CONFIG_REQUEST_APPLY);
    if (config_history_put(settings->state_dir, words, err) != 0 ||
        config_history_wait(settings->state_dir, command->timeout_ms, err) != 0)
        return -1;
    s = config_history_open(settings, err);
    if (s == NULL)
        return -1;
    *ret_paused = store_paused(s);
    bool done = !rollback || store_held_number(s) == *ret_number;
    store_free(s);
    return done ? 0 : error_set(err, ERROR_INVALID, "the daemon refused it; its log says why");
}
