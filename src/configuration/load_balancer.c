#include "configuration/load_balancer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"

#define TEXT_MAX_BYTES 4096
#define HAPROXIES_MAX 64

static const char *const names[LOAD_BALANCER_STATES] = {"in_sync", "behind", "failed"};

const char *load_balancer_state_name(enum load_balancer_state s)
{
    return names[s];
}

void load_balancer_fini(struct load_balancer *l)
{
    for (size_t i = 0; i < l->haproxy_count; i++)
        free(l->haproxies[i]);
    mem_free_all(l->haproxies, l->name, l->reason, l->refused);
    *l = (struct load_balancer){0};
}

void load_balancer_print(const struct load_balancer *l, struct buf *out)
{
    struct yyjson_mut_val *root;
    cleanup(json_free_ptr) struct yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("name", l->name), json_uint("version", l->version), json_str("sha256", l->sha256),
                json_str("state", names[l->state]), json_str("reason", l->reason), json_bool("accepted", l->accepted),
                json_str("refused", l->refused));
    json_put_texts(doc, root, "haproxies", (const char *const *)l->haproxies, l->haproxy_count);
    json_fields(doc, root, json_ms("since", l->since_ms));
    json_write(doc, false, out);
}

static int load_balancer_get_haproxies(yyjson_val *root, struct load_balancer *l, struct error *err)
{
    yyjson_val *list, *one;
    size_t i, count;
    if (json_get_array(root, "haproxies", &list, err) != 0)
        return -1;
    if (yyjson_arr_size(list) > HAPROXIES_MAX)
        return error_set(err, ERROR_INVALID, "\"haproxies\" has %zu entries", yyjson_arr_size(list));
    l->haproxies = mem_array(yyjson_arr_size(list), sizeof(l->haproxies[0]));
    yyjson_arr_foreach (list, i, count, one) {
        const char *name;
        if (json_line(one, "a HAProxy", TEXT_MAX_BYTES, &name, err) != 0)
            return -1;
        l->haproxies[l->haproxy_count++] = mem_strdup(name != NULL ? name : "");
    }
    return 0;
}

static int load_balancer_get(yyjson_val *root, struct load_balancer *l, struct error *err)
{
    const char *name, *sha256, *state, *reason, *refused, *since;
    int64_t version, since_us = 0;
    if (json_get_line(root, "name", TEXT_MAX_BYTES, &name, err) != 0 ||
        json_get_int(root, "version", 0, INT64_MAX, 0, &version, err) != 0 ||
        json_get_line(root, "sha256", DIGEST_SHA256_HEX_BYTES - 1, &sha256, err) != 0 ||
        json_get_line(root, "state", TEXT_MAX_BYTES, &state, err) != 0 ||
        json_get_line(root, "reason", TEXT_MAX_BYTES, &reason, err) != 0 ||
        json_get_bool(root, "accepted", false, &l->accepted, err) != 0 ||
        json_get_line(root, "refused", TEXT_MAX_BYTES, &refused, err) != 0 ||
        json_get_line(root, "since", RFC3339_BYTES, &since, err) != 0)
        return -1;
    unsigned i = 0;
    while (i < LOAD_BALANCER_STATES && (state == NULL || !str_eq(state, names[i])))
        i++;
    if (i == LOAD_BALANCER_STATES)
        return error_set(err, ERROR_INVALID, "\"state\" is unknown");
    if (load_balancer_get_haproxies(root, l, err) != 0)
        return -1;
    if (since != NULL && rfc3339_parse(since, &since_us) != 0)
        return error_set(err, ERROR_INVALID, "\"since\" is no time");
    l->state = (enum load_balancer_state)i;
    l->name = mem_strdup(name != NULL ? name : "");
    l->reason = mem_strdup(reason != NULL ? reason : "");
    l->refused = mem_strdup(refused != NULL ? refused : "");
    l->version = (uint64_t)version;
    l->since_ms = since_us / 1000;
    memcpy(l->sha256, sha256 != NULL ? sha256 : "", strlen(sha256 != NULL ? sha256 : "") + 1);
    return 0;
}

int load_balancer_parse(const char *json, size_t len, struct load_balancer *ret, struct error *err)
{
    struct load_balancer l = {0};
    yyjson_val *root;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "it", err);
    if (json_object_of(doc, "it", &root, err) != 0 || load_balancer_get(root, &l, err) != 0) {
        load_balancer_fini(&l);
        return -1;
    }
    *ret = l;
    return 0;
}
