/* src/haproxy/runtime: what differs between two readings of what runs. */
#include "haproxy/runtime.h"

#include "base/shared_text.h"
#include "../test.h"

static void runtime_text(char **text, const char *to)
{
    free(*text);
    *text = mem_strdup(to);
}

static void runtime_fill(struct runtime *r)
{
    runtime_init(r);
    r->readable = true;
    r->why = mem_strdup("why");
    r->servers = mem_array(2, sizeof(r->servers[0]));
    r->count = 2;
    for (size_t i = 0; i < 2; i++)
        r->servers[i] = (struct runtime_server){
            .name = shared_text_take(mem_printf("n%zu", i)), .address = shared_text("10.0.0.1"), .port = 80};
}

static bool runtime_change(struct runtime *r, unsigned what)
{
    struct runtime_server *s = &r->servers[1];
    switch (what) {
    case 0:
        r->readable = false;
        break;
    case 1:
        runtime_text(&r->why, "another");
        break;
    case 2:
        runtime_server_fini(&r->servers[--r->count]);
        break;
    case 3:
        shared_text_set(&s->name, "another");
        break;
    case 4:
        shared_text_set(&s->address, "another");
        break;
    case 5:
        s->port++;
        break;
    case 6:
        s->weight++;
        break;
    case 7:
        s->admin = RUNTIME_DRAIN;
        break;
    case 8:
        s->down = true;
        break;
    default:
        return false;
    }
    return true;
}

TEST(whatever_differs_is_seen)
{
    unsigned what = 0;
    for (bool more = true; more; what++) {
        cleanup(runtime_fini) struct runtime a, b;
        runtime_fill(&a);
        runtime_fill(&b);
        more = runtime_change(&b, what);
        ck_assert_msg(runtime_same(&a, &b) != more, "difference %u", what);
        ck_assert_msg(runtime_same(&b, &a) != more, "difference %u", what);
    }
    ck_assert_uint_eq(what, 10);
}

TEST(the_next_is_found_wherever_it_is)
{
    static const char *const names[] = {"n0", "n1", "n1", "n0", "n5", "n1", "", "n0", "n1"};
    cleanup(runtime_fini) struct runtime r;
    size_t at = 0;
    runtime_fill(&r);
    for (size_t i = 0; i < array_len(names); i++)
        ck_assert_msg(runtime_find_next(&r, names[i], &at) == runtime_find(&r, names[i]), "%zu", i);
    runtime_fini(&r);
    ck_assert_ptr_null(runtime_find_next(&r, "n0", &at));
}

TEST(since_when_a_check_fails)
{
    cleanup(runtime_fini) struct runtime first, second, third;
    runtime_fill(&first);
    first.servers[1].down = true;
    runtime_keep_since(&first, &(struct runtime){.readable = false}, 100);
    ck_assert_uint_eq(first.servers[0].down_since_s, 0);
    ck_assert_uint_eq(first.servers[1].down_since_s, 100);
    runtime_fill(&second);
    second.servers[0].down = second.servers[1].down = true;
    runtime_keep_since(&second, &first, 200);
    ck_assert_uint_eq(second.servers[0].down_since_s, 200);
    ck_assert_uint_eq(second.servers[1].down_since_s, 100);
    ck_assert(sizeof(struct runtime_server) <= 2 * sizeof(void *) + 16); /* there are many */
    runtime_fill(&third);
    third.servers[0].down = true; /* as it is in maint: nothing is checked */
    third.servers[0].admin = RUNTIME_MAINT;
    runtime_keep_since(&third, &second, 300);
    ck_assert_uint_eq(third.servers[0].down_since_s, 0);
    ck_assert_uint_eq(third.servers[1].down_since_s, 0);
}
