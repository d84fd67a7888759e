/* src/haproxy/backend: what owns what. Under AddressSanitizer a copy that shares, or a fini that forgets, shows by itself. */
#include "haproxy/backend.h"

#include "common.h"

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
    struct backend_server copy;
    backend_server_copy(&copy, &from);
    ck_assert_ptr_null(copy.name);
    ck_assert_ptr_null(copy.json);
    ck_assert_int_eq(copy.weight, -1);
    backend_server_fini(&copy);
}

/* ---- the same ---- */

static void change_text(char **text)
{
    free(*text);
    *text = mem_strdup("another");
}

static bool change_server(struct backend_server *s, unsigned what)
{
    switch (what) {
    case 0:
        shared_text_set(&s->name, "another");
        break;
    case 1:
        shared_text_set(&s->address, "another");
        break;
    case 2:
        s->port++;
        break;
    case 3:
        s->weight++;
        break;
    case 4:
        s->check = !s->check;
        break;
    case 5:
        s->backup = !s->backup;
        break;
    case 6:
        s->maintenance = !s->maintenance;
        break;
    case 7:
        s->enabled = !s->enabled;
        break;
    case 8:
        s->no_backup = !s->no_backup;
        break;
    case 9:
        s->default_disabled = !s->default_disabled;
        break;
    case 10:
        s->default_backup = !s->default_backup;
        break;
    case 11:
        s->check_port++;
        break;
    case 12:
        s->send_proxy_v2 = !s->send_proxy_v2;
        break;
    case 13:
        shared_text_set(&s->json, "another");
        break;
    default:
        return false;
    }
    return true;
}

static bool change_backend(struct backend *b, unsigned what)
{
    switch (what) {
    case 0:
        change_text(&b->name);
        break;
    case 1:
        b->exists = !b->exists;
        break;
    case 2:
        change_text(&b->mode);
        break;
    case 3:
        change_text(&b->balance);
        break;
    case 4:
        change_text(&b->adv_check);
        break;
    case 5:
        b->httpchk_params = !b->httpchk_params;
        break;
    case 6:
        b->default_send_proxy_v2 = !b->default_send_proxy_v2;
        break;
    case 7:
        b->disabled_line++;
        break;
    case 8:
        b->backup_line++;
        break;
    case 9:
        change_text(&b->json);
        break;
    case 10:
        backend_server_fini(&b->servers[--b->server_count]);
        break;
    case 11:
        free(b->templates[--b->template_count].prefix);
        break;
    case 12:
        change_text(&b->templates[0].prefix);
        break;
    case 13:
        b->templates[0].first++;
        break;
    case 14:
        b->templates[0].last++;
        break;
    case 15:
        b->unsupported[0].line++;
        break;
    case 16:
        change_text(&b->unsupported[0].text);
        break;
    case 17:
        change_text(&b->unsupported[0].reason);
        break;
    case 18:
        b->unsupported[0].only_shown = !b->unsupported[0].only_shown;
        break;
    default:
        return change_server(&b->servers[1], what - 19);
    }
    return true;
}

TEST(whatever_differs_is_seen)
{
    unsigned what = 0;
    for (bool more = true; more; what++) {
        cleanup(backend_fini) struct backend a, b;
        fill(&a);
        fill(&b);
        b.version = 8;
        ck_assert_msg(backend_same(&a, &b), "the version is no difference");
        more = change_backend(&b, what);
        ck_assert_msg(backend_same(&a, &b) != more, "difference %u", what);
        ck_assert_msg(backend_same(&b, &a) != more, "difference %u", what);
    }
    ck_assert_uint_eq(what, 19 + 14 + 1);
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
