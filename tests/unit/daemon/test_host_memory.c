/* src/daemon/host_memory: whose a host name is, in STATE_DIR and in a ConfigMap, in virtual time. The ConfigMap, who writes to it, and the
 * folder are this file's. */
#include "daemon/host_memory.h"

#include "base/clock.h"
#include "daemon/config/secret_source.h"
#include "daemon/state_text.h"
#include "kube/client.h"
#include "kube/writer.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define FOLDER "folder.example first\n"

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct secret_source shared;
    struct secret_object object;
    struct secret_value value;
    unsigned sent, kept, changes;
    char *path, *text; /* of the last request */
    void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err);
    struct settings settings;
    struct kube_access access;
    struct daemon in;
    struct host_memory *m;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"
#include "../test.h"

/* ---- what it calls ---- */

struct secret_source *secret_source_new(struct event_base *base, struct kube_client *client,
                                        const struct secret_source_options *options, void (*changed)(void *arg),
                                        void *arg)
{
    w.shared = (struct secret_source){.callback = changed, .arg = arg};
    return &w.shared;
}

void secret_source_free(struct secret_source *s)
{
}

struct annotator *annotator_new(struct kube_client *client,
                                void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err),
                                void *arg)
{
    w.done = done;
    return (struct annotator *)&w;
}

void annotator_free(struct annotator *a)
{
}

int annotator_send(struct annotator *a, const char *path, const char *version, const struct annotation *list,
                   size_t count, struct error *err)
{
    ck_assert_ptr_null(version);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(list->name, "host-owners");
    free(w.path);
    free(w.text);
    w.path = mem_strdup(path);
    w.text = mem_strdup(list->value);
    w.sent++;
    return 0;
}

bool kube_client_has_logged(struct kube_client *c, const char *message)
{
    return false;
}

char *state_text_recall(const char *folder, enum state_text which, const struct log *log)
{
    ck_assert_int_eq(which, STATE_HOST_OWNERS);
    return mem_strdup(FOLDER);
}

void state_text_keep(const char *folder, int fd, enum state_text which, const char *before, const char *now,
                     const struct log *log)
{
    w.kept++;
}

/* ---- what a test does ---- */

static void on_changed(void *arg)
{
    w.changes++;
}

static void world_begin_as(const char *configmap, bool dry_run)
{
    static char infra[] = "infra";
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000;
    w.settings = (struct settings){.host_owners_configmap = (char *)(uintptr_t)configmap, .dry_run = dry_run};
    w.access.namespace = infra;
    w.in = (struct daemon){.settings = &w.settings, .access = &w.access};
    w.m = host_memory_new(&w.in, -1);
    host_memory_listen(w.m, on_changed, NULL);
}

static void world_begin(void)
{
    world_begin_as("hosts", false);
}

static void world_end(void)
{
    host_memory_free(w.m);
    free(w.path);
    free(w.text);
}

/* NULL: there is no such ConfigMap, or it has nothing. */
static void watch_brings(const char *text)
{
    static char key[] = "host-owners";
    w.value =
        (struct secret_value){.key = key, .bytes = (char *)(uintptr_t)text, .len = text != NULL ? strlen(text) : 0};
    w.object = (struct secret_object){.values = &w.value, .value_count = text != NULL};
    w.shared.object = &w.object;
    w.shared.synced = true;
    w.shared.callback(w.shared.arg);
}

static void recalls(const char *text)
{
    cleanup(mem_free_ptr) char *is = host_memory_recall(w.m);
    ck_assert_str_eq(is, text);
}

FIXTURE(world_begin, world_end)

TEST(without_a_configmap_the_folder_has_it)
{
    world_end();
    world_begin_as(NULL, false);
    ck_assert(host_memory_known(w.m));
    recalls(FOLDER);
    host_memory_lead(w.m, true);
    host_memory_keep(w.m, "", "a.example one\n");
    virtual_pass(1000);
    ck_assert_uint_eq(w.kept, 1);
    ck_assert_uint_eq(w.sent, 0);
}

TEST(nothing_is_known_before_the_configmap_was_read)
{
    ck_assert(!host_memory_known(w.m));
    watch_brings("a.example one\n");
    ck_assert(host_memory_known(w.m));
    ck_assert_uint_eq(w.changes, 1);
    recalls("a.example one\n");
}

TEST(a_configmap_that_has_nothing_leaves_it_to_the_folder)
{
    watch_brings(NULL);
    ck_assert_uint_eq(w.changes, 1);
    recalls(FOLDER);
    watch_brings("");
    recalls("");
}

TEST(who_leads_writes_each_change_once)
{
    watch_brings("a.example one\n");
    host_memory_keep(w.m, "", "a.example one\n");
    host_memory_lead(w.m, true);
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 0); /* the ConfigMap has it */
    host_memory_keep(w.m, "a.example one\n", "a.example two\n");
    host_memory_keep(w.m, "a.example two\n", "b.example two\n");
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(w.path, "/api/v1/namespaces/infra/configmaps/hosts");
    ck_assert_str_eq(w.text, "b.example two\n");
    host_memory_keep(w.m, "b.example two\n", "c.example two\n");
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 1); /* one request at a time */
    w.done(w.m, ANNOTATE_WRITTEN, NULL);
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 2);
    ck_assert_str_eq(w.text, "c.example two\n");
    w.done(w.m, ANNOTATE_WRITTEN, NULL);
    watch_brings("c.example two\n");
    virtual_pass(100000);
    ck_assert_uint_eq(w.sent, 2);
    ck_assert_uint_eq(w.changes, 1); /* its own writes are no news */
}

TEST(who_stands_by_follows_and_writes_when_it_leads)
{
    watch_brings("a.example one\n");
    host_memory_keep(w.m, "", "a.example two\n"); /* as it sees things itself */
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 0);
    watch_brings("a.example one\nb.example one\n");
    ck_assert_uint_eq(w.changes, 2);
    recalls("a.example one\nb.example one\n");
    host_memory_keep(w.m, "", "a.example one\nb.example one\n");
    watch_brings("a.example one\nb.example one\n");
    ck_assert_uint_eq(w.changes, 2);
    host_memory_keep(w.m, "", "a.example one\n");
    virtual_pass(1000);
    host_memory_lead(w.m, true);
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(w.text, "a.example one\n");
    w.done(w.m, ANNOTATE_WRITTEN, NULL);
    host_memory_lead(w.m, false);
    host_memory_keep(w.m, "", "c.example one\n");
    virtual_pass(100000);
    ck_assert_uint_eq(w.sent, 1);
}

TEST(who_leads_no_more_follows_what_came_during_its_last_write)
{
    watch_brings("a.example one\n");
    host_memory_lead(w.m, true);
    host_memory_keep(w.m, "a.example one\n", "a.example two\n");
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 1);
    host_memory_lead(w.m, false);
    watch_brings("a.example three\n");
    ck_assert_uint_eq(w.changes, 1);
    w.done(w.m, ANNOTATE_CONFLICT, NULL);
    ck_assert_uint_eq(w.changes, 2);
    recalls("a.example three\n");
}

/* Two that write by turns would else do so without a pause. */
TEST(what_another_writer_puts_there_is_written_over_after_a_minute)
{
    watch_brings("a.example one\n");
    host_memory_keep(w.m, "", "a.example one\n");
    host_memory_lead(w.m, true);
    virtual_pass(1000);
    watch_brings("a.example another\n");
    ck_assert_uint_eq(w.changes, 1);
    virtual_pass(59000);
    ck_assert_uint_eq(w.sent, 0);
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(w.text, "a.example one\n");
}

TEST(what_could_not_be_written_is_written_later)
{
    static const struct error why = {.kind = ERROR_RETRY, .message = "503"};
    watch_brings(NULL);
    host_memory_keep(w.m, "", "a.example one\n");
    host_memory_lead(w.m, true);
    virtual_pass(1000);
    ck_assert_uint_eq(w.sent, 1);
    w.done(w.m, ANNOTATE_LATER, &why);
    virtual_pass(0);
    ck_assert_uint_eq(w.sent, 1);
    virtual_pass(60000);
    ck_assert_uint_eq(w.sent, 2);
}

TEST(a_dry_run_writes_nothing)
{
    world_end();
    world_begin_as("hosts", true);
    watch_brings("a.example one\n");
    host_memory_keep(w.m, "", "a.example two\n");
    host_memory_lead(w.m, true);
    virtual_pass(100000);
    ck_assert_uint_eq(w.sent, 0);
}
