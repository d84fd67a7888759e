/* src/daemon/status/status_haproxy: what is shown of a HAProxy, as it goes through its states, in scenes.h's. */
#include "../servers/scenes.h"

#include <yyjson.h>

#include "base/rfc3339.h"
#include "json/write.h"
#include "daemon/status/status.h"
#include "daemon/status/status_parts.h"

#define WALL_MINUS_MONO_MS 1000000

static size_t left;
static enum status_state worst;
static int64_t in_sync_since_ms;

/* The document of the target, with what /readyz says. */
static yyjson_doc *shown(void)
{
    cleanup(buf_fini) struct buf json = {0};
    cleanup(checks_fini) struct checks checks = {0};
    servers_ready(w.target.servers, &checks);
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    struct status_haproxies h = {.checks = &checks, .wall_minus_mono_ms = WALL_MINUS_MONO_MS, .left = left};
    worst = STATUS_IN_SYNC;
    status_haproxy_add(&w.target, &h, doc, json_put_list(doc, root, "list"), &worst);
    in_sync_since_ms = h.in_sync_since_ms;
    json_write(doc, false, &json);
    json_free(doc);
    yyjson_doc *read = yyjson_read(json.data, json.len, 0);
    ck_assert_ptr_nonnull(read);
    return read;
}

static void assert_shown(const char *path, const char *text)
{
    yyjson_doc *doc = shown();
    cleanup(mem_free_ptr) char *whole = mem_printf("/list/0%s", path);
    cleanup(mem_free_ptr) char *is = yyjson_val_write(yyjson_ptr_get(yyjson_doc_get_root(doc), whole), 0, NULL);
    expect(str_eq(is, text), is != NULL ? is : "it is not there");
    yyjson_doc_free(doc);
}

/* A moment of the world, as the document has it. */
static char *moment(uint64_t mono_ms)
{
    char text[RFC3339_BYTES];
    rfc3339_format(((int64_t)mono_ms + WALL_MINUS_MONO_MS) * 1000, 3, text);
    return mem_printf("\"%s\"", text);
}

/* "n1 live, n2 parked": the servers of a backend. */
static void assert_servers(const char *wanted)
{
    yyjson_doc *doc = shown();
    cleanup(buf_fini) struct buf is = {0};
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach (yyjson_ptr_get(yyjson_doc_get_root(doc), "/list/0/backends/0/servers/list"), i, max, item) {
        const char *hand = yyjson_get_str(yyjson_obj_get(item, "overridden"));
        buf_printf(&is, "%s%s %s%s%s", i > 0 ? ", " : "", yyjson_get_str(yyjson_obj_get(item, "name")),
                   yyjson_get_str(yyjson_obj_get(item, "state")), hand != NULL ? " overridden " : "",
                   hand != NULL ? hand : "");
    }
    expect(str_eq(buf_str(&is), wanted), buf_str(&is));
    yyjson_doc_free(doc);
}

static void setup(void)
{
    left = STATUS_LISTS_MAX;
    three_in_sync();
}

/* "has /state "in_sync""; "list n1 live": the servers; "mark": this moment (of whole seconds: "mark-second"), which "at /since" has;
 * "left 2": in lists; "in-sync-since mark" */
static bool status_word(const char *word, char *rest)
{
    static uint64_t marked_ms;
    if (str_eq(word, "has")) {
        const char *path = strsep(&rest, " ");
        assert_shown(path, rest);
    } else if (str_eq(word, "list")) {
        assert_servers(rest);
    } else if (str_eq(word, "mark")) {
        marked_ms = clock_mono_ms();
    } else if (str_eq(word, "mark-second")) {
        marked_ms = clock_mono_ms() / 1000 * 1000;
    } else if (str_eq(word, "at")) {
        cleanup(mem_free_ptr) char *text = moment(marked_ms);
        assert_shown(rest, text);
    } else if (str_eq(word, "in-sync-since")) {
        expect(in_sync_since_ms == (rest[0] == 'm' ? (int64_t)marked_ms + WALL_MINUS_MONO_MS : 0), "another moment");
    } else if (str_eq(word, "left")) {
        left = (size_t)ms_of(rest);
    } else {
        return false;
    }
    return true;
}

FIXTURE(setup, world_end)

static const struct {
    struct scene scene;
    enum status_state worst; /* in the end */
} scenes[] = {
    {{"before the first answer",
      "world 1 routes | has /state \"waiting\" | has /text \"waiting for Kubernetes\" | has /url \"" API_URL "\" | "
      "has /version null | has /worker_pid null | has /backends/0/servers/up null | "
      "has /runtime_verification \"untested\" | has /reload {\"state\":\"none\",\"id\":null,\"problem\":null} | "
      "has /answers true | list "},
     STATUS_WAITING},
    {{"in step", "has /state \"in_sync\" | has /backends/0/text \"in sync\" | has /backends/0/readable true | "
                 "list n1 live, n2 live, n3 live | "
                 "has /backends/0/servers/list/0 {\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80,\"weight\":100,"
                 "\"state\":\"live\",\"line\":\"live\",\"running\":\"ready\",\"health\":\"up\",\"down_since\":null,"
                 "\"overridden\":null,\"removal_delayed_until\":null}"},
     STATUS_IN_SYNC},
    {{"draining, parked and back",
      "desired n1* n2 n3 | settle | pass resync | list n1 draining, n2 live, n3 live | desired n2 n3 | settle | "
      "list n1 parked, n2 live, n3 live | has /backends/0/servers/live 2 | has /backends/0/servers/parked 1 | "
      "has /runtime_verification \"verified\" | desired n1 n2 n3 | settle | list n1 live, n2 live, n3 live"},
     STATUS_IN_SYNC},
    {{"down by its health check",
      "failing n2, | pass resync | list n2 live, n1 live, n3 live | has /backends/0/servers/list/0/health \"down\" | "
      "has /backends/0/servers/list/1/health \"up\" | mark-second | pass resync | "
      "at /backends/0/servers/list/0/down_since | has /backends/0/servers/list/1/down_since null | "
      "has /backends/0/servers/live 3 | has /backends/0/servers/up 2 | has /backends/0/servers/down 1 | "
      "has /backends/0/state \"in_sync\" | desired n1 n3 | settle | has /backends/0/servers/down 0 | "
      "has /backends/0/servers/list/1/health null"},
     STATUS_IN_SYNC},
    {{"overridden", "run n1 n2! n3 | pass resync | list n2 live overridden drain, n1 live, n3 live | "
                    "has /backends/0/overridden \"n2 is in drain\" | has /backends/0/servers/overridden 1 | "
                    "has /backends/0/servers/live 3 | has /state \"in_sync\""},
     STATUS_IN_SYNC},
    {{"a reload is under way",
      "set held | desired n1 n2 n3 n4 | pass 0 | has /state \"changing\" | has /reload/state \"pending\""},
     STATUS_CHANGING},
    {{"a reload has ended",
      "set held | desired n1 n2 n3 n4 | pass 0 | unset held | pass 2reload | has /state \"in_sync\" | "
      "has /reload/state \"none\""},
     STATUS_IN_SYNC},
    /* The servers are those that were known last. */
    {{"trouble", "world 1 routes | have n1 n2 n3 | mark | start | desired n1 n2 n3 | pass 0 | has /answers true | has "
                 "/as_of null | fault R | pass resync | has /state \"problem\" | "
                 "list n1 live, n2 live, n3 live | has /answers false | at /as_of"},
     STATUS_PROBLEM},
    {{"it answers again", "fault R | pass resync | mend | pass resync | has /answers true | has /as_of null"},
     STATUS_IN_SYNC},
    /* Readings that find the same change nothing. */
    {{"since when it is in sync",
      "mark | at /backends/0/since | pass 3resync | at /backends/0/since | in-sync-since mark | "
      "desired because DELETED slice | mark | settle | pass 3resync | has /state \"removal_delayed\" | "
      "at /backends/0/since | in-sync-since never"},
     STATUS_REMOVAL_DELAYED},
    {{"holding the last good servers",
      "desired because DELETED slice | settle | has /state \"removal_delayed\" | "
      "has /backends/0/text \"keeping the last servers: no usable endpoint; ALLOW_EMPTY is false, so the last servers "
      "stay (3)\" | list n1 live, n2 live, n3 live"},
     STATUS_REMOVAL_DELAYED},
    /* What is to be read comes first. */
    {{"lists are bounded together", "run n1 n2 n3! | pass resync | left 2 | list n3 live overridden drain, n1 live | "
                                    "has /backends/0/servers/live 3 | "
                                    "has /backends/0/servers/listed 2 | left 0 | list "},
     STATUS_IN_SYNC},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].scene.title, scenes[_i].scene.steps, status_word);
    yyjson_doc_free(shown());
    ck_assert_int_eq(worst, scenes[_i].worst);
}

TEST(of_a_standby)
{
    cleanup(buf_fini) struct buf json = {0};
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    status_haproxy_add_standby("http://lb2", doc, json_put_list(doc, root, "list"));
    json_write(doc, false, &json);
    json_free(doc);
    ck_assert_str_eq(buf_str(&json), "{\"list\":[{\"url\":\"http://lb2\",\"state\":\"standby\","
                                     "\"text\":\"managed by the leading replica\",\"backends\":[]}]}");
}
