/* Last good forms of a set's objects: what renders see, and what it costs where a tenant names one large object often. */
#include <event2/event.h>
#include <malloc.h>

#include "daemon/quarantine.h"
#include "settings/settings.h"
#include "daemon/template/set_quarantine.h"
#include "model/cache.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#include "../../test.h"

#define INGRESSES 40
#define NAMES 2000 /* of one Secret, in each Ingress */
#define LARGE (1u << 20)
#define WATCHES                                                                           \
    "watch:\n  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress, quarantine: " \
    "{secrets: \"spec.tls[*].secretName\"}}\n  secrets: {apiVersion: v1, kind: Secret}\n" \
    "haproxy.cfg: x\n"

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak)); /* valgrind has none */

static struct event_base *base;
static struct template_set *set;
static struct objects *objects;
static struct quarantine *q;
static struct set_quarantine *s;

static void again(void *arg)
{
}

static void setup(void)
{
    const struct template_file file = {TEMPLATE_SET_FILE, (char *)(uintptr_t)WATCHES, strlen(WATCHES)};
    static const struct settings settings;
    static struct daemon in;
    base = event_base_new();
    in = (struct daemon){.base = base, .settings = &settings};
    set = template_set_parse(&file, 1, &flaw);
    ck_assert_msg(set != NULL, "%s", flaw.message);
    objects = objects_new(set);
    q = quarantine_new(&in, -1);
    quarantine_listen(q, again, again, NULL);
    s = set_quarantine_new(q);
}

static void teardown(void)
{
    set_quarantine_free(s);
    quarantine_free(q);
    objects_free(objects);
    template_set_free(set);
    event_base_free(base);
}

FIXTURE(setup, teardown)

static void put(size_t watch, const char *name, char *json)
{
    struct template_object *o = mem_alloc(sizeof(*o));
    *o = (struct template_object){mem_strdup(name), json};
    (void)cache_put(objects_cache(objects, watch), o);
}

static void put_secret(char filling)
{
    struct buf json = {0};
    buf_printf(&json, "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},\"data\":\"");
    for (size_t i = 0; i < LARGE; i++)
        buf_addn(&json, &filling, 1);
    buf_add(&json, "\"}");
    put(1, "n/s", buf_take(&json));
}

static void judged(bool accepted)
{
    const struct culprits_verdict v = {.accepted = accepted, .why = accepted ? NULL : "no"};
    quarantine_gives(q, false);
    quarantine_judge(q, &v);
    event_base_loop(base, EVLOOP_NONBLOCK);
    set_quarantine_prepare(s, set, objects);
}

static size_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes != NULL ? __sanitizer_get_current_allocated_bytes()
                                                           : mallinfo2().uordblks;
}

/* As each Ingress was accepted with the Secret that it had: there is one copy of that, and it is hashed once. */
TEST(what_many_name_is_kept_once)
{
    put_secret('a');
    for (unsigned i = 0; i < INGRESSES; i++) {
        struct buf json = {0};
        buf_printf(&json, "{\"metadata\":{\"name\":\"i%u\",\"namespace\":\"n\"},\"spec\":{\"tls\":[{}", i);
        for (unsigned k = 0; k < NAMES; k++)
            buf_add(&json, ",{\"secretName\":\"s\"}");
        buf_add(&json, "]}}");
        cleanup(mem_free_ptr) char *name = mem_printf("n/i%u", i);
        put(0, name, buf_take(&json));
    }
    set_quarantine_prepare(s, set, objects);
    judged(true);
    put_secret('b');
    size_t before = allocated();
    set_quarantine_prepare(s, set, objects);
    size_t more = allocated() - before, most = (size_t)INGRESSES * NAMES * 64;
    ck_assert_msg(more < most, "%zu bytes more, at most %zu are expected", more, most);
    judged(false);
    const yyjson_val *const *seen;
    ck_assert_uint_eq(objects_list(objects, 1, &seen), 1);
    ck_assert_int_eq(yyjson_get_str(yyjson_obj_get((yyjson_val *)(uintptr_t)seen[0], "data"))[0], 'a');
    objects_forget_read(objects);
}
