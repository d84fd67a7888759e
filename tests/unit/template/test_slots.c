/* Places of servers: by a table, and by random streams of servers that come and go, of which none that stays may move. */

#include <yyjson.h>

#include "template/engine.h"

#include "../dice.h"
#include "../effort.h"
#include "../test.h"

#define STEP 4
#define ADDRESSES 40
#define TEMPLATE                                                                                \
    "backend a\n  server s1 7\n{% for one in servers|slots(4, 'b') %}{% if loop.first %}\n"     \
    "backend b\n  balance x\n{% endif %}  server s{{ loop.index }} {{ one or '- disabled' }}\n" \
    "{% endfor %}\npeers p\n  server s1 7\n"

static struct buf text; /* that was rendered last */
static bool placed;

static void begin(void)
{
    buf_init(&text, 0);
    buf_add(&text, "");
    placed = false;
}

static void end(void)
{
    buf_fini(&text);
}

FIXTURE(begin, end)

static void take(void *arg, const struct engine_record *record)
{
    ck_assert_msg(record->what != ENGINE_ERROR, "%.*s", (int)record->text.len, record->text.bytes);
    if (record->what == ENGINE_OUTPUT)
        buf_addn(arg, record->text.bytes, record->text.len);
    placed = placed || record->what == ENGINE_PLACED;
}

/* servers: "1,2,3" of those that are there. What it renders is what the next one has before it. */
static void render(const char *template, const char *servers)
{
    struct buf made = {0};
    cleanup(mem_free_ptr) char *json = mem_printf("[%s]", servers);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    const struct engine_source source = {{"haproxy.cfg", strlen("haproxy.cfg")}, {template, strlen(template)}, 0};
    const struct engine_variable variable = {{"servers", strlen("servers")}, yyjson_doc_get_root(doc)};
    const struct engine_output output = {ENGINE_HAPROXY_CFG, source.name, source.name};
    const struct engine_job job = {.trim_blocks = true,
                                   .sources = &source,
                                   .source_count = 1,
                                   .variables = &variable,
                                   .variable_count = 1,
                                   .outputs = &output,
                                   .output_count = 1,
                                   .before = {buf_str(&text), text.len},
                                   .arg = &made,
                                   .emit = take};
    ck_assert_int_eq(engine_run_job(&job), 0);
    yyjson_doc_free(doc);
    buf_fini(&text);
    text = made;
}

/* By place, from 0 on, the number of the server there, 0: none. Returns how many places there are. */
static size_t read_places(unsigned ret[ADDRESSES * 2])
{
    size_t count = 0;
    for (const char *at = strstr(buf_str(&text), "backend b"); (at = strstr(at, "\n  server s")) != NULL;) {
        at += strlen("\n  server s");
        if (strtoul(at, NULL, 10) == 1 && count > 0)
            break; /* the peers */
        ck_assert_uint_eq(strtoul(at, NULL, 10), count + 1);
        ret[count++] = (unsigned)strtoul(strchr(at, ' '), NULL, 10);
    }
    return count;
}

static const struct {
    const char *before, *servers, *places;
} rows[] = {
    {"", "", "----"},
    {"backend b\n server x 1\n server y 2\n", "1,2", "12--"},
    {"backend b\n server x 2\n server y 1\n", "1,2", "21--"},
    {"backend b\n server x 9\n server y 2\n", "2", "-2--"},
    {"backend b from defaults\n\tbalance y\n\tserver x 127.0.0.1:1 disabled\n\tserver y 2 check\n", "2", "-2--"},
    {"backend b\n server x -\n server x -\n server x -\n server x -\n server x -\n server x 6\n", "6", "-----6--"},
    {"backend b\n server x 1\nbackend b\n server x 2\n server y 1\n", "1", "1---"}, /* of two HAProxies the first */
    {"backend b\n server x -\n server x 1\nlisten c\n server x 9\n server y 2\n", "1", "-1--"},
};

TEST_EACH(places, array_len(rows))
{
    unsigned at[ADDRESSES * 2];
    char shown[ADDRESSES * 2 + 1] = "";
    buf_add(&text, rows[_i].before);
    render(TEMPLATE, rows[_i].servers);
    size_t count = read_places(at);
    for (size_t i = 0; i < count; i++)
        shown[i] = at[i] != 0 ? (char)('0' + at[i]) : '-';
    ck_assert_str_eq(shown, rows[_i].places);
    ck_assert(placed);
}

/* Without a name it is as if nothing was before, and nobody has to know what was. */
TEST(without_a_name)
{
    buf_add(&text, "backend b\n server x 9\n server y 9\n server z 1\n");
    render("{{ servers|slots(4)|join(' ') }}", "1");
    cleanup(mem_free_ptr) char *cold = mem_strdup(buf_str(&text));
    buf_clear(&text);
    render("{{ servers|slots(4, 'b')|join(' ') }}", "1");
    ck_assert_str_eq(buf_str(&text), cold);
}

TEST_EACH(streams, effort(40))
{
    struct dice d = {.state = (uint64_t)_i + 1};
    unsigned was[ADDRESSES * 2] = {0}, now[ADDRESSES * 2];
    size_t was_count = 0;
    bool there[ADDRESSES + 1] = {false};
    for (unsigned round = 0; round < 50; round++) {
        struct buf servers = {0};
        size_t live = 0, seen = 0, reaches = 0;
        unsigned change = dice_below(&d, 3) == 0 ? 2 : 12; /* many, or few */
        buf_add(&servers, "");
        for (unsigned i = 1; i <= ADDRESSES; i++) {
            there[i] = there[i] != (dice_below(&d, change) == 0);
            if (there[i])
                buf_printf(&servers, "%s%u", live++ > 0 ? "," : "", i);
        }
        render(TEMPLATE, buf_str(&servers));
        buf_fini(&servers);
        size_t count = read_places(now);
        for (size_t i = 0; i < was_count; i++) {
            if (was[i] == 0 || !there[was[i]])
                continue;
            reaches = i + 1;
            ck_assert_msg(i < count && now[i] == was[i], "round %u: %u moves from %zu", round, was[i], i);
        }
        for (size_t i = 0; i < count; i++) {
            seen += now[i] != 0;
            ck_assert(now[i] == 0 || there[now[i]]);
            for (size_t k = 0; k < i; k++)
                ck_assert(now[i] == 0 || now[i] != now[k]);
        }
        ck_assert_uint_eq(seen, live);
        size_t least = live > reaches ? live : reaches > 0 ? reaches : 1;
        ck_assert_uint_eq(count, (least + STEP - 1) / STEP * STEP);
        memcpy(was, now, sizeof(was));
        was_count = count;
    }
}
