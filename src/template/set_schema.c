/* The JSON Schema of set.yaml, of the tables that read one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/write.h"
#include "template/set_keys.h"

static const char *const schemas[] = {[SET_TEXT] = SCHEMA_TEXT,
                                      [SET_SELECTOR] = "{\"$ref\": \"#/$defs/selector\"}",
                                      [SET_NAMES] = SCHEMA_TEXTS,
                                      [SET_PATHS] = SCHEMA_TEXTS,
                                      [SET_JSON] = "{\"type\": \"object\"}"};

/* What rows refer to and what is no mapping of keys. */
static const struct {
    const char *name, *json;
} others[] = {
    {"texts", "{\"anyOf\": [" SCHEMA_TEXT ", {\"type\": \"array\", \"items\": " SCHEMA_TEXT "}]}"},
    {"selector", "{\"anyOf\": [" SCHEMA_TEXT ", {\"type\": \"object\"}]}"},
    {"template", "{\"anyOf\": [" SCHEMA_TEXT ", {\"$ref\": \"#/$defs/text\"}]}"},
    {"tests", "{\"anyOf\": [" SCHEMA_EACH("test") ", {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/test\"}}]}"},
};

static yyjson_mut_val *schema_of_json(yyjson_mut_doc *doc, const char *json)
{
    yyjson_doc *read = yyjson_read(json, strlen(json), 0);
    yyjson_mut_val *copy = read != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)) : NULL;
    yyjson_doc_free(read);
    if (copy == NULL)
        abort(); /* a row has no JSON, or there is no memory */
    return copy;
}

static void schema_put_keys(yyjson_mut_doc *doc, yyjson_mut_val *to, const struct set_keys *keys)
{
    json_fields(doc, to, json_str("description", keys->help), json_str("type", "object"),
                json_bool("additionalProperties", false));
    yyjson_mut_val *properties = json_put_object(doc, to, "properties");
    for (const struct set_key *key = keys->list; key < keys->list + keys->count; key++) {
        cleanup(mem_free_ptr) char *same = mem_printf("The same as %s.", key->name);
        const char *const names[] = {key->name, key->alias}, *const helps[] = {key->help, same};
        for (size_t i = 0; i < array_len(names) && names[i] != NULL; i++) {
            yyjson_mut_val *schema = schema_of_json(doc, key->schema != NULL ? key->schema : schemas[key->value]);
            json_fields(doc, schema, json_str("description", helps[i]));
            json_put(doc, properties, names[i], schema);
        }
    }
}

void template_set_schema(struct buf *out)
{
    static const struct set_keys *const mappings[] = {&set_watch_keys,    &set_text_keys, &set_target_keys,
                                                      &set_settings_keys, &set_test_keys, &set_assertion_keys};
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("$schema", "https://json-schema.org/draft/2020-12/schema"),
                json_str("title", "set.yaml"));
    schema_put_keys(doc, root, &set_root_keys);
    yyjson_mut_val *defs = json_put_object(doc, root, "$defs");
    for (size_t i = 0; i < array_len(mappings); i++)
        schema_put_keys(doc, json_put_object(doc, defs, mappings[i]->name), mappings[i]);
    for (size_t i = 0; i < array_len(others); i++)
        json_put(doc, defs, others[i].name, schema_of_json(doc, others[i].json));
    yyjson_mut_val *names = json_put_list(doc, json_put_object(doc, defs, "assertion_type"), "enum");
    for (unsigned kind = 0; kind < ASSERTION_KINDS; kind++)
        json_add(names, json_text(doc, assertion_name(kind)));
    json_write(doc, true, out);
    buf_add(out, "\n");
}
