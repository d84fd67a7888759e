/* A resource that the daemon does not know, ConfigMaps, is watched by a row that lives here alone: what is kept of an object, its
 * decoder, its path. Into a cache, and into a sink that is none. */
#include "informer_peer.h"

#include "kube/decode/decode_field.h"

struct config_map_value {
    char *key, *base64;
};

struct config_map {
    char *name;
    char *type;
    struct config_map_value *data;
    uint32_t data_count;
    bool immutable;
};

static const struct record_member value_rows[] = {
    RECORD_TEXT(struct config_map_value, key),
    RECORD_TEXT(struct config_map_value, base64),
};
static const struct record value_record = {sizeof(struct config_map_value), value_rows, array_len(value_rows), false};

static const struct record_member config_map_rows[] = {
    RECORD_TEXT(struct config_map, name),
    RECORD_TEXT(struct config_map, type),
    RECORD_LIST(struct config_map, data, data_count, &value_record),
    RECORD_PLAIN(struct config_map, immutable),
};
static const struct record config_map_record = {sizeof(struct config_map), config_map_rows, array_len(config_map_rows),
                                                false};

static int decode_config_map(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct config_map *s = object;
    const char *type = NULL, *text;
    size_t i, max;
    yyjson_val *data, *key, *value;
    if (json_get_object(from, "data", &data, err) != 0 || json_get_line(from, "type", 64, &type, err) != 0)
        return -1;
    s->type = mem_strdup(type);
    s->data = mem_array(yyjson_obj_size(data), sizeof(s->data[0]));
    yyjson_obj_foreach (data, i, max, key, value) {
        if (json_line(value, yyjson_get_str(key), 1u << 20, &text, decode_part_error(d)) != 0)
            decode_left_out(d, "data");
        else
            s->data[s->data_count++] = (struct config_map_value){mem_strdup(yyjson_get_str(key)), mem_strdup(text)};
    }
    return json_get_bool(from, "immutable", false, &s->immutable, err);
}

static const struct kube_resource config_maps = {.kind = "configmap",
                                                 .plural = "configmaps",
                                                 .api = "/api/v1",
                                                 .record = &config_map_record,
                                                 .decode = decode_config_map};

#define MAP(name, version, data) "{" META(name, version) ",\"type\":\"kubernetes.io/tls\",\"data\":" data "}"
#define TLS_CRT(base64) "{\"tls.crt\":\"" base64 "\",\"tls.key\":\"a2V5\"}"
#define TWO_MAPS EVENT("ADDED", MAP("web", "1", TLS_CRT("b25l"))) EVENT("ADDED", MAP("api", "2", "{}")) END_OF_LIST("5")
#define MAPS_PATH "GET /api/v1/namespaces/ing/configmaps?fieldSelector=type%3Dkubernetes.io%2Ftls&watch=1"

static const struct informer_options row = {
    .resource = &config_maps, .namespace = "ing", .field_selector = "type=kubernetes.io/tls", .scope = "ing/web"};

static const struct config_map *config_map_of(const char *name)
{
    return cache_find(cache, name);
}

FIXTURE(setup, teardown)

TEST(config_maps_in_a_cache)
{
    static const struct step steps[] = {
        {.expect = MAPS_PATH "&sendInitialEvents=true", .body = TWO_MAPS, .after = HOLD, .split = 1}};
    start_row(steps, array_len(steps), &row, &callbacks);
    UNTIL(status().synced);
    ck_assert_str_eq(buf_str(&told),
                     "listed: configmaps start\nrequested: 200\nchanged: list of configmaps of ing/web\n");
    ck_assert_uint_eq(times_logged("resource=configmaps service=ing/web objects=2"), 1);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_str_eq(config_map_of("web")->type, "kubernetes.io/tls");
    ck_assert_uint_eq(config_map_of("web")->data_count, 2);
    ck_assert_str_eq(config_map_of("web")->data[0].key, "tls.crt");
    ck_assert_str_eq(config_map_of("web")->data[0].base64, "b25l");
    ck_assert_uint_eq(config_map_of("api")->data_count, 0);
    push(EVENT("MODIFIED", MAP("web", "6", TLS_CRT("b25l")))); /* nothing that is kept changed */
    push(EVENT("MODIFIED", MAP("web", "7", TLS_CRT("dHdv"))) EVENT("DELETED", MAP("api", "8", "{}")));
    UNTIL(was_commanded("changed: DELETED configmap api of ing/web\n"));
    ck_assert_uint_eq(times_commanded("changed: MODIFIED configmap ing/web\n"), 1);
    ck_assert_str_eq(config_map_of("web")->data[0].base64, "dHdv");
    ck_assert_ptr_null(config_map_of("api"));
}

TEST(a_config_map_that_cannot_be_used)
{
    static const struct step steps[] = {{.expect = MAPS_PATH, .body = TWO_MAPS, .after = HOLD}};
    start_row(steps, array_len(steps), &row, &callbacks);
    UNTIL(status().synced);
    push(EVENT("MODIFIED", MAP("web", "6", "7")));
    UNTIL(times_logged("configmap web is skipped: data is a number, not an object") == 1);
    ck_assert_str_eq(config_map_of("web")->data[0].base64, "b25l");
    push(EVENT("MODIFIED", MAP("api", "7", "{\"odd\":5,\"good\":\"eA==\"}")));
    UNTIL(was_commanded("changed: MODIFIED configmap api of ing/web\n"));
    ck_assert_uint_eq(config_map_of("api")->data_count, 1);
}

static struct buf calls;

static bool on_change(void *arg, const struct sink_change *c, size_t *ret_count)
{
    static const char *const words[] = {[SINK_BEGIN] = "begin", [SINK_REMOVE] = "remove", [SINK_KEEP] = "keep",
                                        [SINK_ABORT] = "abort", [SINK_END] = "end",       [SINK_FORGET] = "forget"};
    const struct config_map *s = c->object;
    if (c->step == SINK_PUT) {
        buf_printf(arg, "put %s/%u ", s->name, s->data_count);
        record_free(&config_map_record, c->object);
        return true;
    }
    buf_printf(arg, "%s%s%s ", words[c->step], c->name != NULL ? " " : "", c->name != NULL ? c->name : "");
    *ret_count = 7;
    return c->step == SINK_REMOVE || c->step == SINK_END;
}

TEST(config_maps_in_a_sink_that_is_no_cache)
{
    static const struct step steps[] = {
        {.expect = "sendInitialEvents=true", .body = EVENT("ADDED", MAP("web", "1", "{}")), .after = CUT},
        {.expect = "sendInitialEvents=true", .body = TWO_MAPS, .after = HOLD},
        {.expect = "sendInitialEvents=true", .body = TWO_MAPS, .after = HOLD}};
    const struct informer_sink sink = {.take = on_change, .arg = &calls};
    buf_init(&calls, 0);
    start_sink(steps, array_len(steps), &row, &sink, &callbacks);
    UNTIL(peer.next == 1 && peer.last == NULL);
    informer_poke(informer);
    UNTIL(status().synced);
    ck_assert_str_eq(buf_str(&calls), "begin put web/0 abort begin put web/2 put api/0 end ");
    ck_assert_uint_eq(times_logged("objects=7"), 1);
    buf_clear(&calls);
    push(EVENT("MODIFIED", MAP("web", "6", "[]")) EVENT("DELETED", MAP("api", "7", "{}")));
    UNTIL(was_commanded("changed: DELETED configmap api of ing/web\n"));
    ck_assert_str_eq(buf_str(&calls), "keep web remove api ");
    buf_clear(&calls);
    informer_forget(informer);
    ck_assert(!status().synced);
    UNTIL(status().synced);
    ck_assert_str_eq(buf_str(&calls), "forget begin put web/2 put api/0 end ");
    buf_fini(&calls);
}
