#include "template/json_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAX_STEPS 32u
#define MAX_INDEX 1000000u

void json_path_free(struct json_path *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++)
        free(p->steps[i].field);
    mem_free_all(p->steps, p);
}

static void json_path_add(struct json_path *p, struct json_path_step step)
{
    p->steps = mem_resize(p->steps, p->count + 1, sizeof(p->steps[0]));
    p->steps[p->count++] = step;
}

/* Behind "[": a number, * or a quoted name. NULL: it is none of these. */
static const char *json_path_bracket(struct json_path *p, const char *at)
{
    if (at[0] == '*' && at[1] == ']') {
        json_path_add(p, (struct json_path_step){.kind = STEP_EACH});
        return at + 2;
    }
    if (*at == '\'' || *at == '"') {
        const char *end = strchr(at + 1, *at);
        if (end == NULL || end == at + 1 || end[1] != ']')
            return NULL;
        json_path_add(
            p, (struct json_path_step){.kind = STEP_FIELD, .field = mem_strndup(at + 1, (size_t)(end - at - 1))});
        return end + 2;
    }
    char *end;
    unsigned long index = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : MAX_INDEX + 1;
    if (index > MAX_INDEX || *end != ']')
        return NULL;
    json_path_add(p, (struct json_path_step){.kind = STEP_INDEX, .index = (uint32_t)index});
    return end + 1;
}

/* A name up to the next "." or "["; a backslash makes the byte behind it a part of it, as kubectl has it. */
static const char *json_path_field(struct json_path *p, const char *at)
{
    char *name = mem_alloc(strlen(at) + 1);
    size_t len = 0;
    while (*at != '\0' && *at != '.' && *at != '[') {
        if (*at == '\\' && at[1] != '\0')
            at++;
        name[len++] = *at++;
    }
    if (len == 0) {
        free(name);
        return NULL;
    }
    json_path_add(p, (struct json_path_step){.kind = STEP_FIELD, .field = name});
    return at;
}

struct json_path *json_path_parse(const char *text, struct error *err)
{
    struct json_path *p = mem_alloc(sizeof(*p));
    size_t len = strlen(text);
    bool braces = len >= 2 && text[0] == '{' && text[len - 1] == '}';
    cleanup(mem_free_ptr) char *plain = mem_strndup(text + (braces ? 1 : 0), len - (braces ? 2 : 0));
    const char *at = plain + (plain[0] == '$' ? 1 : 0), *from;
    do {
        from = at;
        if (p->count == MAX_STEPS)
            at = NULL;
        else
            at = *at == '[' ? json_path_bracket(p, at + 1) : json_path_field(p, *at == '.' ? at + 1 : at);
    } while (at != NULL && *at != '\0');
    if (at != NULL)
        return p;
    (void)error_set(err, ERROR_INVALID,
                    "path \"%s\": \"%s\" is no field, [number], ['name'] or [*], of which there may be %u", text, from,
                    MAX_STEPS);
    json_path_free(p);
    return NULL;
}

static bool json_path_walk(const struct json_path *p, size_t step, yyjson_val *at,
                           bool (*fn)(void *arg, yyjson_val *found), void *arg)
{
    for (; at != NULL && step < p->count; step++) {
        const struct json_path_step *s = &p->steps[step];
        if (s->kind == STEP_EACH) {
            size_t i, max;
            yyjson_val *element, *key;
            yyjson_arr_foreach (at, i, max, element)
                if (!json_path_walk(p, step + 1, element, fn, arg))
                    return false;
            yyjson_obj_foreach (at, i, max, key, element)
                if (!json_path_walk(p, step + 1, element, fn, arg))
                    return false;
            return true;
        }
        at = s->kind == STEP_FIELD ? yyjson_obj_get(at, s->field) : yyjson_arr_get(at, s->index);
    }
    return at == NULL || fn(arg, at);
}

static bool json_path_take(void *arg, yyjson_val *found)
{
    *(yyjson_val **)arg = found;
    return false;
}

yyjson_val *json_path_first(const struct json_path *p, yyjson_val *from)
{
    yyjson_val *found = NULL;
    json_path_each(p, from, json_path_take, &found);
    return found;
}

void json_path_each(const struct json_path *p, yyjson_val *from, bool (*fn)(void *arg, yyjson_val *found), void *arg)
{
    (void)json_path_walk(p, 0, from, fn, arg);
}
