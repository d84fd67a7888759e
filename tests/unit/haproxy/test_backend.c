/* src/haproxy/backend: what owns what. Under AddressSanitizer a copy that shares, or a fini that forgets, shows by itself. */
#include "haproxy/backend.h"

#include "base/shared_text.h"
#include "../test.h"

static void fill(struct backend *b)
{
    backend_init(b);
    b->name = mem_strdup("be");
    b->exists = true;
    b->version = 7;
    b->mode = mem_strdup("tcp");
    b->balance = mem_strdup("roundrobin");
    b->adv_check = mem_strdup("tcp-check");
    b->json = mem_strdup("{}");
    b->servers = mem_array(2, sizeof(*b->servers));
    b->server_count = 2;
    for (size_t i = 0; i < 2; i++) {
        b->servers[i] =
            (struct backend_server){.port = 80, .weight = 5, .check = true, .maintenance = true, .check_port = 81};
        b->servers[i].name = shared_text_take(mem_printf("n%zu", i));
        b->servers[i].address = shared_text_take(mem_printf("10.0.0.%zu", i));
        b->servers[i].json = shared_text("{\"a\":1}");
    }
    b->templates = mem_array(1, sizeof(*b->templates));
    b->template_count = 1;
    b->templates[0] = (struct backend_template){.prefix = mem_strdup("slot"), .first = 1, .last = 3};
    b->unsupported = mem_array(1, sizeof(*b->unsupported));
    b->unsupported_count = 1;
    b->unsupported[0] =
        (struct backend_unsupported_line){.line = 3, .text = mem_strdup("server"), .reason = mem_strdup("no")};
}

TEST(fini_leaves_an_empty_one_that_can_be_used_again)
{
    struct backend b;
    for (int round = 0; round < 2; round++) {
        fill(&b);
        backend_fini(&b);
        ck_assert_ptr_null(b.name);
        ck_assert_ptr_null(b.servers);
        ck_assert_uint_eq(b.server_count + b.template_count + b.unsupported_count, 0);
        ck_assert(!b.exists);
        ck_assert_int_eq(b.version, -1);
        backend_fini(&b);
    }
}

TEST(copy_is_deep_and_complete)
{
    struct backend b;
    struct backend_server copy;
    fill(&b);
    backend_server_copy(&copy, &b.servers[1]);
    backend_fini(&b);
    ck_assert_str_eq(copy.name, "n1");
    ck_assert_str_eq(copy.address, "10.0.0.1");
    ck_assert_str_eq(copy.json, "{\"a\":1}");
    ck_assert_uint_eq(copy.port, 80);
    ck_assert_uint_eq(copy.check_port, 81);
    ck_assert_int_eq(copy.weight, 5);
    ck_assert(copy.check && copy.maintenance && !copy.backup && !copy.send_proxy_v2);
    backend_server_fini(&copy);
    ck_assert_ptr_null(copy.name);
}

TEST(copy_of_one_that_is_still_to_be_made)
{
    const struct backend_server from = {.weight = -1};
    cleanup(backend_server_fini) struct backend_server copy;
    backend_server_copy(&copy, &from);
    ck_assert_ptr_null(copy.name);
    ck_assert_ptr_null(copy.json);
    ck_assert_int_eq(copy.weight, -1);
}

/* Everything that counts of a backend, of its lists and of its last server. */
enum kind { TEXT, SHARED, NUMBER };

static const struct member {
    enum { BACKEND, SERVER, TEMPLATE, UNSUPPORTED } of;
    size_t at;
    enum kind kind;
} members[] = {
#define OF(which, type, name, kind)              \
    {                                            \
        which, offsetof(struct type, name), kind \
    }
    OF(BACKEND, backend, name, TEXT),
    OF(BACKEND, backend, exists, NUMBER),
    OF(BACKEND, backend, mode, TEXT),
    OF(BACKEND, backend, balance, TEXT),
    OF(BACKEND, backend, adv_check, TEXT),
    OF(BACKEND, backend, httpchk_params, NUMBER),
    OF(BACKEND, backend, default_send_proxy_v2, NUMBER),
    OF(BACKEND, backend, disabled_line, NUMBER),
    OF(BACKEND, backend, backup_line, NUMBER),
    OF(BACKEND, backend, json, TEXT),
    OF(TEMPLATE, backend_template, prefix, TEXT),
    OF(TEMPLATE, backend_template, first, NUMBER),
    OF(TEMPLATE, backend_template, last, NUMBER),
    OF(UNSUPPORTED, backend_unsupported_line, line, NUMBER),
    OF(UNSUPPORTED, backend_unsupported_line, text, TEXT),
    OF(UNSUPPORTED, backend_unsupported_line, reason, TEXT),
    OF(UNSUPPORTED, backend_unsupported_line, only_shown, NUMBER),
    OF(SERVER, backend_server, name, SHARED),
    OF(SERVER, backend_server, address, SHARED),
    OF(SERVER, backend_server, port, NUMBER),
    OF(SERVER, backend_server, weight, NUMBER),
    OF(SERVER, backend_server, check, NUMBER),
    OF(SERVER, backend_server, backup, NUMBER),
    OF(SERVER, backend_server, maintenance, NUMBER),
    OF(SERVER, backend_server, enabled, NUMBER),
    OF(SERVER, backend_server, no_backup, NUMBER),
    OF(SERVER, backend_server, default_disabled, NUMBER),
    OF(SERVER, backend_server, default_backup, NUMBER),
    OF(SERVER, backend_server, check_port, NUMBER),
    OF(SERVER, backend_server, send_proxy_v2, NUMBER),
    OF(SERVER, backend_server, json, SHARED),
};

static void change(struct backend *b, const struct member *m)
{
    char *const owners[] = {(char *)b, (char *)&b->servers[1], (char *)b->templates, (char *)b->unsupported};
    void *at = owners[m->of] + m->at;
    char **text = at;
    if (m->kind == SHARED) {
        shared_text_set(at, "another");
    } else if (m->kind == TEXT) {
        free(*text);
        *text = mem_strdup("another");
    } else {
        *(char *)at ^= 1;
    }
}

static void assert_same(const struct backend *a, const struct backend *b, bool same, size_t what)
{
    ck_assert_msg(backend_same(a, b) == same && backend_same(b, a) == same, "difference %zu", what);
}

TEST_EACH(whatever_differs_is_seen, array_len(members))
{
    cleanup(backend_fini) struct backend a, b;
    fill(&a);
    fill(&b);
    b.version = 8;
    assert_same(&a, &b, true, 0); /* the version is no difference */
    change(&b, &members[_i]);
    assert_same(&a, &b, false, (size_t)_i);
}

TEST(one_less_is_seen)
{
    cleanup(backend_fini) struct backend a, b, c;
    fill(&a);
    fill(&b);
    fill(&c);
    backend_server_fini(&b.servers[--b.server_count]);
    free(c.templates[--c.template_count].prefix);
    assert_same(&a, &b, false, 0);
    assert_same(&a, &c, false, 1);
}

TEST(find_by_whole_name)
{
    struct backend b;
    fill(&b);
    ck_assert_ptr_eq(backend_find(&b, "n1"), &b.servers[1]);
    ck_assert_ptr_null(backend_find(&b, "n"));
    ck_assert_ptr_null(backend_find(&b, "n11"));
    ck_assert_ptr_null(backend_find(&b, "N1"));
    backend_fini(&b);
    ck_assert_ptr_null(backend_find(&b, "n1"));
}
