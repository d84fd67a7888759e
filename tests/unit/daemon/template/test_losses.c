/* What stays of what templates see: by tables, and by random streams against a model of one Service. */

#include "daemon/template/losses.h"
#include "model/cache.h"
#include "model/record.h"
#include "template/objects.h"
#include "template/set.h"

#include "../../dice.h"
#include "../../effort.h"
#include "../../test.h"

#define PERIOD_MS 30000
#define WATCHES                                                                  \
    "watch:\n  slices: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice}\n" \
    "  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress}\n"           \
    "  classes: {apiVersion: networking.k8s.io/v1, resources: ingressclasses}\n" \
    "  pods: {apiVersion: v1, kind: Pod}\nhaproxy.cfg: x\n"
enum { SLICES, INGRESSES, CLASSES, PODS, RESOURCES };

static struct template_set *set;
static struct objects *objects;
static struct losses *losses;
static uint64_t now_ms;

static void open_with(unsigned max_percent)
{
    const struct template_file file = {TEMPLATE_SET_FILE, (char *)(uintptr_t)WATCHES, strlen(WATCHES)};
    set = template_set_parse(&file, 1, &flaw);
    ck_assert_msg(set != NULL, "%s", flaw.message);
    objects = objects_new(set);
    losses = losses_new(set, objects, max_percent, PERIOD_MS);
    now_ms = 1000000;
}

static void begin(void)
{
    open_with(50);
}

static void end(void)
{
    objects_free(objects);
    losses_free(losses);
    template_set_free(set);
}

FIXTURE(begin, end)

/* Another run of the daemon, which has listed nothing yet. `watched` NULL, or how one resource is watched now. */
static void restart(const char *was, const char *watched)
{
    struct buf text = {0};
    losses_print(losses, &text);
    char *at = was != NULL ? strstr(buf_str(&text), was) : NULL;
    ck_assert(was == NULL || at != NULL);
    if (at != NULL)
        memcpy(at, watched, strlen(watched));
    end();
    open_with(50);
    losses_recall(losses, buf_str(&text));
    buf_fini(&text);
}

static void put(size_t resource, const char *name, const char *json)
{
    struct template_object *o = mem_alloc(sizeof(*o));
    *o = (struct template_object){mem_strdup(name), mem_strdup(json)};
    (void)cache_put(objects_cache(objects, resource), o);
}

static void gone(size_t resource, const char *name)
{
    ck_assert(cache_delete(objects_cache(objects, resource), name));
}

/* "1 2=no 3=end": 10.0.0.1 is ready, 10.0.0.2 is not, 10.0.0.3 terminates. */
static char *slice_json(const char *service, const char *endpoints)
{
    struct buf text = {0};
    buf_printf(&text,
               "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\",\"labels\":{\"kubernetes.io/"
               "service-name\":\"%s\"}},\"endpoints\":[",
               service);
    cleanup(mem_free_ptr) char *words = mem_strdup(endpoints);
    char *rest = words;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        const char *state = strchr(word, '=');
        if (*word == '\0')
            continue;
        buf_printf(&text, "%s{\"addresses\":[\"10.0.0.%.*s\"],\"conditions\":{\"ready\":%s%s}}",
                   word != words ? "," : "", (int)strcspn(word, "="), word, state == NULL ? "true" : "false",
                   state != NULL && str_eq(state, "=end") ? ",\"terminating\":true" : "");
    }
    buf_add(&text, "]}");
    return buf_take(&text);
}

static void slice(const char *name, const char *service, const char *endpoints)
{
    cleanup(mem_free_ptr) char *json = slice_json(service, endpoints);
    put(SLICES, name, json);
}

static void list_one(void *arg, const void *object)
{
    const struct template_object *o = object;
    buf_printf(arg, "%s%s", ((struct buf *)arg)->len > 0 ? " " : "", o->name);
    for (const char *at = o->json; (at = strstr(at, "10.0.0.")) != NULL;) {
        at += strlen("10.0.0.");
        buf_printf(arg, ":%.*s", (int)strcspn(at, "\""), at);
    }
}

/* What a render is given besides what is there: "n/s-1~1:1:2" is a slice with two endpoints. */
static const char *decided(size_t resource)
{
    static char text[512];
    struct buf list = {0};
    struct objects *given = objects_new(set);
    (void)losses_decide(losses, now_ms);
    losses_apply(losses, given);
    cache_each(objects_cache(given, resource), list_one, &list);
    objects_free(given);
    snprintf(text, sizeof(text), "%s", list.len > 0 ? buf_str(&list) : "");
    buf_fini(&list);
    return text;
}

static const struct {
    const char *before, *after, *stays;
} endpoint_rows[] = {
    {"1 2 3 4", "1 2 3", ""},
    {"1 2 3 4", "1 2", ""},
    {"1 2 3 4", "1", "n/s~1:2:3:4"},
    {"1 2 3 4", "1 2=no 3=no 4=no", "n/s~1:2:3:4"},
    {"1 2 3 4", "1=no 2=no 3=no 4=no", "n/s~1:1:2:3:4"},
    {"1 2 3 4", "", "n/s~1:1:2:3:4"},
    {"1 2 3 4", NULL, "n/s~1:1:2:3:4"},
    {"1", NULL, "n/s~1:1"},
    {"1 2 3 4", "5 6 7 8", "n/s~1:1:2:3:4"},
    {"1 2 3 4", "1=end 2=end 3=end 4=end", ""},
    {"1 2 3 4", "1=no 2=end 3=end 4", ""},
    {"1=no 2=no 3", "3", ""},
    {"1=end 2=end", NULL, ""},
};

static void of_endpoints_of(int row, bool restarts)
{
    slice("n/s", "web", endpoint_rows[row].before);
    slice("n/other", "other", "1 2 3 4 5 6 7 8 9");
    ck_assert_str_eq(decided(SLICES), "");
    if (restarts) {
        restart(NULL, NULL);
        slice("n/other", "other", "1 2 3 4 5 6 7 8 9");
        ck_assert_uint_eq(losses_view(losses, SLICES).delayed, 0);
    }
    if (endpoint_rows[row].after != NULL)
        slice("n/s", "web", endpoint_rows[row].after);
    else if (!restarts)
        gone(SLICES, "n/s");
    ck_assert_str_eq(decided(SLICES), endpoint_rows[row].stays);
    const struct losses_view v = losses_view(losses, SLICES);
    ck_assert_uint_eq(v.groups, *endpoint_rows[row].stays != '\0');
    cleanup(mem_free_ptr) char *said = losses_text(losses, SLICES);
    ck_assert((said != NULL) == (v.delayed > 0));
    now_ms += PERIOD_MS - 1;
    ck_assert_str_eq(decided(SLICES), endpoint_rows[row].stays);
    now_ms++;
    ck_assert_str_eq(decided(SLICES), "");
    ck_assert_uint_eq(losses_view(losses, SLICES).delayed, 0);
}

TEST_EACH(of_endpoints, array_len(endpoint_rows))
{
    of_endpoints_of(_i, false);
}

TEST_EACH(what_vanishes_during_a_restart, array_len(endpoint_rows))
{
    of_endpoints_of(_i, true);
}

TEST(they_end_one_by_one_and_return)
{
    slice("n/s", "web", "1 2 3 4");
    ck_assert_str_eq(decided(SLICES), "");
    ck_assert_uint_eq(losses_decide(losses, now_ms), 0);
    slice("n/s", "web", "1 2 3=no 4=no");
    ck_assert_str_eq(decided(SLICES), "");
    now_ms += 1000;
    slice("n/s", "web", "1 2=no 3=no 4=no");
    ck_assert_str_eq(decided(SLICES), "n/s~1:2");
    now_ms += 1000;
    slice("n/s", "web", "1=no 2=no 3=no 4=no");
    ck_assert_str_eq(decided(SLICES), "n/s~1:2 n/s~2:1");
    ck_assert_uint_eq(losses_decide(losses, now_ms), now_ms - 1000 + PERIOD_MS);
    slice("n/s", "web", "1 2=no 3=no 4=no");
    ck_assert_str_eq(decided(SLICES), "n/s~1:2");
    slice("n/s", "web", "1 2=end 3=no 4=no"); /* announced now */
    ck_assert_str_eq(decided(SLICES), "");
}

TEST(an_endpoint_that_moves_to_another_slice_is_there)
{
    slice("n/s", "web", "1 2");
    ck_assert_str_eq(decided(SLICES), "");
    slice("n/t", "web", "1 2");
    gone(SLICES, "n/s");
    ck_assert_str_eq(decided(SLICES), "");
    gone(SLICES, "n/t");
    slice("n/u", "web", "2 1");
    ck_assert_str_eq(decided(SLICES), "");
}

TEST(a_list_that_is_empty)
{
    slice("n/s", "web", "1 2");
    slice("n/t", "api", "3");
    put(INGRESSES, "n/a", "{}");
    put(INGRESSES, "n/b", "{}");
    ck_assert_str_eq(decided(SLICES), "");
    for (size_t i = 0; i < RESOURCES; i++) {
        cache_replace_begin(objects_cache(objects, i));
        ck_assert(cache_replace_end(objects_cache(objects, i)));
    }
    ck_assert_str_eq(decided(SLICES), "n/s~1:1:2 n/t~1:3");
    ck_assert_str_eq(decided(INGRESSES), "n/a n/b");
    ck_assert_uint_eq(losses_view(losses, SLICES).groups, 2);
    ck_assert_uint_eq(losses_view(losses, SLICES).delayed, 3);
}

TEST(what_no_render_has_seen_is_no_loss)
{
    put(INGRESSES, "n/a", "{}");
    ck_assert_str_eq(decided(INGRESSES), "");
    put(INGRESSES, "n/b", "{}");
    put(INGRESSES, "n/c", "{}");
    gone(INGRESSES, "n/b");
    gone(INGRESSES, "n/c");
    ck_assert_str_eq(decided(INGRESSES), "");
}

static bool is_withheld(void *arg, const char *resource, const char *name)
{
    return str_eq(resource, "ingresses") && str_eq(name, arg);
}

TEST(what_no_render_sees_is_no_loss)
{
    losses_withhold(losses, is_withheld, (char *)(uintptr_t) "n/a");
    put(INGRESSES, "n/a", "{}");
    put(INGRESSES, "n/b", "{}");
    put(INGRESSES, "n/c", "{}");
    ck_assert_str_eq(decided(INGRESSES), "");
    gone(INGRESSES, "n/a");
    gone(INGRESSES, "n/b");
    gone(INGRESSES, "n/c");
    ck_assert_str_eq(decided(INGRESSES), "n/b n/c");
}

#define DELETED "{\"metadata\":{\"deletionTimestamp\":\"x\"}}"

TEST(what_is_announced)
{
    for (const char *c = "abcdefgh"; *c != '\0'; c++) {
        const char name[] = {'n', '/', *c, '\0'};
        put(INGRESSES, name, *c < 'e' ? "{}" : DELETED);
    }
    ck_assert_str_eq(decided(INGRESSES), "");
    for (const char *c = "efgh"; *c != '\0'; c++) {
        const char name[] = {'n', '/', *c, '\0'};
        gone(INGRESSES, name);
    }
    gone(INGRESSES, "n/a");
    ck_assert_str_eq(decided(INGRESSES), "");
    losses_announce(losses, true); /* given up */
    gone(INGRESSES, "n/b");
    gone(INGRESSES, "n/c");
    losses_announce(losses, false);
    ck_assert_str_eq(decided(INGRESSES), "");
}

static const struct {
    size_t resource;
    unsigned there, lost;
    bool stays;
} object_rows[] = {
    {INGRESSES, 4, 2, false}, {INGRESSES, 4, 3, true}, {INGRESSES, 2, 2, true},
    {INGRESSES, 1, 1, false}, {CLASSES, 4, 1, true},   {CLASSES, 1, 1, true},
};

TEST_EACH(of_objects, array_len(object_rows))
{
    size_t resource = object_rows[_i].resource;
    for (unsigned i = 0; i < object_rows[_i].there; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("n%u", i);
        put(resource, name, "{\"metadata\":{}}");
    }
    ck_assert_str_eq(decided(resource), "");
    for (unsigned i = 0; i < object_rows[_i].lost; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("n%u", i);
        gone(resource, name);
    }
    ck_assert(str_has_prefix(decided(resource), "n0") == object_rows[_i].stays);
    ck_assert_uint_eq(losses_view(losses, resource).delayed, object_rows[_i].stays ? object_rows[_i].lost : 0);
    put(resource, "n0", "{\"metadata\":{}}");
    ck_assert(!str_has_prefix(decided(resource), "n0"));
}

#define READY "{\"status\":{\"podIP\":\"10.0.0.1\",\"containerStatuses\":[{\"ready\":true}]}}"
#define UNREADY "{\"status\":{\"podIP\":\"10.0.0.2\",\"containerStatuses\":[{\"ready\":false}]}}"
#define ENDS                                                                                                  \
    "{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"podIP\":\"10.0.0.2\",\"containerStatuses\":[{" \
    "\"ready\":false}]}}"

TEST(of_pods)
{
    put(PODS, "n/a", READY);
    put(PODS, "n/b", READY);
    put(PODS, "m/c", READY);
    ck_assert_str_eq(decided(PODS), "");
    put(PODS, "m/c", UNREADY);
    ck_assert_str_eq(decided(PODS), "m/c:1");
    put(PODS, "m/c", ENDS);
    ck_assert_str_eq(decided(PODS), "");
    gone(PODS, "n/a");
    ck_assert_str_eq(decided(PODS), "");
    gone(PODS, "n/b");
    ck_assert_str_eq(decided(PODS), "n/b:1");
}

TEST(without_a_limit)
{
    end();
    open_with(100);
    slice("n/s", "web", "1 2");
    ck_assert_str_eq(decided(SLICES), "");
    gone(SLICES, "n/s");
    ck_assert_str_eq(decided(SLICES), "");
}

/* ---- streams: two slices of one Service; what was ready, and went without an announcement, goes at last one period later ---- */

#define ADDRESSES 6

struct model {
    bool in[2][ADDRESSES], ends[ADDRESSES];
    uint64_t lost_ms[ADDRESSES]; /* 0: it is not lost */
};

static void event(struct dice *d, struct model *m)
{
    unsigned which = dice_below(d, 2);
    cleanup(buf_fini) struct buf words = {0};
    buf_add(&words, "");
    for (unsigned i = 0; i < ADDRESSES; i++) {
        unsigned how = dice_below(d, 8);
        m->in[which][i] = how < 4;
        m->ends[i] = how == 4;
        if (how < 6)
            buf_printf(&words, " %u%s", i, how == 4 ? "=end" : how == 5 ? "=no" : "");
    }
    slice(which ? "n/b" : "n/a", "web", buf_str(&words) + (words.len > 0));
}

static void check(struct model *m)
{
    bool stays[ADDRESSES] = {false};
    const char *given = decided(SLICES);
    for (const char *at = given; (at = strchr(at, ':')) != NULL; at++)
        stays[at[1] - '0'] = true;
    for (unsigned i = 0; i < ADDRESSES; i++) {
        bool there = m->in[0][i] || m->in[1][i];
        m->lost_ms[i] = there || m->ends[i] ? 0 : m->lost_ms[i] != 0 ? m->lost_ms[i] : now_ms;
        ck_assert_msg(!stays[i] || (m->lost_ms[i] != 0 && now_ms < m->lost_ms[i] + PERIOD_MS), "%u stays: %s", i,
                      given);
    }
}

TEST_EACH(streams, effort(40))
{
    struct dice d = {.state = (uint64_t)_i + 1};
    struct model m = {0};
    for (unsigned i = 0; i < 200; i++) {
        event(&d, &m);
        check(&m);
        now_ms += dice_below(&d, PERIOD_MS);
    }
    slice("n/a", "web", "0 1 2 3 4 5");
    ck_assert_str_eq(decided(SLICES), "");
    gone(SLICES, "n/b");
    gone(SLICES, "n/a");
    now_ms += PERIOD_MS;
    ck_assert(*decided(SLICES) != '\0');
    now_ms += PERIOD_MS;
    ck_assert_str_eq(decided(SLICES), "");
    ck_assert_uint_eq(losses_decide(losses, now_ms), 0);
}

/* ---- over a restart ---- */

TEST(what_is_delayed_is_delayed_anew_by_a_restart)
{
    ck_assert(losses_changed(losses)); /* what an earlier run kept may have Secrets that are watched no more */
    slice("n/s", "web", "1 2");
    put(CLASSES, "c", "{}");
    put(PODS, "n/a", READY);
    ck_assert_str_eq(decided(SLICES), "");
    ck_assert(losses_changed(losses) && !losses_changed(losses));
    gone(SLICES, "n/s");
    ck_assert(losses_changed(losses));
    for (int times = 0; times < 2; times++) {
        ck_assert_str_eq(decided(SLICES), times == 0 ? "n/s~1:1:2" : "n/s~1~1:1:2");
        now_ms += PERIOD_MS / 2;
        restart(NULL, NULL);
    }
    slice("n/t", "web", "2");
    (void)losses_decide(losses, now_ms);
    ck_assert_uint_eq(losses_view(losses, SLICES).delayed, 0);
    ck_assert_uint_eq(losses_view(losses, CLASSES).delayed, 1);
    ck_assert_uint_eq(losses_view(losses, PODS).delayed, 1);
    (void)losses_changed(losses);
    now_ms += PERIOD_MS;
    ck_assert_uint_eq(losses_decide(losses, now_ms), 0);
    ck_assert(losses_changed(losses));
}

TEST(what_is_watched_otherwise_is_not_missed)
{
    put(CLASSES, "c", "{}");
    put(INGRESSES, "n/a", "{}");
    put(INGRESSES, "n/b", "{}");
    ck_assert_str_eq(decided(INGRESSES), "");
    restart("# ingresses networking.k8s.io/v1 ", "# ingresses networking.k8s.io/v2 ");
    ck_assert_str_eq(decided(INGRESSES), "");
    ck_assert_str_eq(decided(CLASSES), "c");
    restart("c {}", "c {/");
    ck_assert_str_eq(decided(CLASSES), "");
}
