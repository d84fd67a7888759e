/* src/cli/did_you_mean: the names that may be meant. */

#include "../model_text.h"
#include "cli/did_you_mean.h"

static const struct {
    const char *name, *near;
} rows[] = {
    {"n9", "n1, n2, n3"}, /* one edit, in the order of their names; no more than three */
    {"worker-17.exmaple.org", "worker-17.example.org, worker-18.example.org"},
    {"worker-17", "worker-17.example.org"}, /* a name within a name */
    {"worker-18.example.org.", "worker-18.example.org, worker-17.example.org"},
    {"n1.example.net", "n1"},
    {"10.0.0.2", "n2"},                /* the address of a node */
    {"10.244.1.7", "n1"},              /* of an endpoint on a node */
    {"10.244.3.7", "n9-of-endpoints"}, /* of an endpoint on a node that is not known */
    {"fd00:0:0::4", "n4"},             /* however it is spelled */
    {"10.77.0.1", NULL},
    {"something-else-altogether", NULL},
    {"", NULL},
};

TEST_EACH(the_nearest, array_len(rows))
{
    struct object_caches caches = text_caches_new();
    text_put_all(&caches, "node n1 10.0.0.1\nnode n2 10.0.0.2\nnode n3 10.0.0.3\nnode n4 fd00::4\n"
                          "node worker-17.example.org 10.0.1.17\nnode worker-18.example.org 10.0.1.18\n");
    text_put_all(&caches, "slice a http/80 : 10.244.1.7@n1 10.244.2.7@n2=no\n"
                          "endpoints web http/80 : 10.244.3.7@n9-of-endpoints 10.77.0.1");
    cleanup(nearest_fini) struct nearest n;
    nearest_init(&n, rows[_i].name);
    nearest_of_nodes(&n, &caches);
    nearest_of_endpoints(&n, &caches);
    nearest_of_endpoints(&n, &caches); /* another backend may have the same Service: each name once */
    cleanup(mem_free_ptr) char *text = nearest_text(&n);
    ck_assert_msg(str_eq(text, rows[_i].near), "\"%s\": %s", rows[_i].name, text != NULL ? text : "nothing");
    text_caches_free(&caches);
}

/* By its name it is as near as another one, by an endpoint's address nearer. */
TEST(an_address_moves_a_name_up)
{
    struct object_caches caches = text_caches_new();
    text_put_all(&caches, "node 10.244.9.1 10.0.0.1\nnode 10.244.9.8 10.0.0.8\n");
    text_put_all(&caches, "slice a http/80 : 10.244.9.9@10.244.9.8");
    cleanup(nearest_fini) struct nearest n;
    nearest_init(&n, "10.244.9.9");
    nearest_of_nodes(&n, &caches);
    nearest_of_endpoints(&n, &caches);
    cleanup(mem_free_ptr) char *text = nearest_text(&n);
    ck_assert_str_eq(text, "10.244.9.8, 10.244.9.1");
    text_caches_free(&caches);
}
