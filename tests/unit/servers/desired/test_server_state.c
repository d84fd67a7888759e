/* src/servers/desired/server_state: the table of the header row by row, then random passes against a second telling of it. */

#include "servers/desired/server_state.h"

#include "../../test.h"

#define TIMEOUT_MS 1000

/*
 * A life of one server: U, T, L, E and G are passes that see it USABLE, ENDING, LEAVING, EXCLUDED and GONE, "-" is one
 * that does not see it, "+500" lets time go by. What each pass says: live, draining, out, out! (announced), and "nothing"
 * where the server is not remembered at the end of a pass that did not see it.
 */
static const struct {
    const char *life, *says;
} rows[] = {
    {"U U", "live live"},
    {"U L", "live draining"},
    {"L", "draining"},
    {"U G", "live out"},
    {"U E", "live out!"},
    {"E", "out!"},
    {"G", "out"},
    {"-", "nothing"},
    {"U -", "live out"},
    /* a drain has an end */
    {"U L +999 L +1 L", "live draining draining out!"},
    {"U L +500 L +500 L", "live draining draining out!"},
    {"U L +5000 L +5000 L", "live draining out! out!"},
    {"U L +1000 -", "live draining out!"},
    {"U L +1000 G", "live draining out!"},
    /* or an operator ends it */
    {"U L U", "live draining live"},
    {"U L E", "live draining out!"},
    {"U L G", "live draining out!"},
    {"U L -", "live draining out!"},
    {"U L +1000 L U", "live draining out! live"},
    /* and the next one has all of its time */
    {"U L +900 U L +900 L +100 L", "live draining live draining draining out!"},
    {"U L +1000 L U L +999 L +1 L", "live draining out! live draining draining out!"},
    /* out is out until it is usable */
    {"U G L", "live out out!"},
    {"U E L", "live out! out!"},
    {"U - L", "live out out!"},
    {"U E G -", "live out! out! out!"},
    {"U G E", "live out out!"},
    {"U G U", "live out live"},
    {"U E U", "live out! live"},
    {"U - U", "live out live"},
    /* how it went once is forgotten with the next life */
    {"U E U G", "live out! live out"},
    {"U E U -", "live out! live out"},
    {"U L U -", "live draining live out"},
    {"U L +1000 L U G", "live draining out! live out"},
    /* used though all of it terminates: its end was announced, unless it came back in between */
    {"T", "live"},
    {"U T -", "live live out!"},
    {"U T G -", "live live out! out!"},
    {"U T U -", "live live live out"},
    {"U T L +999 L +1 L", "live live draining draining out!"},
    {"U L T -", "live draining live out!"},
    {"U L +1000 L T G", "live draining out! live out!"},
    {"U E T U G", "live out! live live out"},
    /* what is out and not seen is forgotten after a while, counted from when it went */
    {"U - +599999 - +1 - U", "live out out nothing live"},
    {"U +3600000 - -", "live out out"},
    {"U E +599999 - +1 -", "live out! out! nothing"},
    {"U E +599999 G +599999 - +1 -", "live out! out! out! nothing"},
    {"U - +600000 - L", "live out nothing draining"},
    {"U - +600000 - G -", "live out nothing out nothing"},
    {"U L +3600000 - +599999 - +1 -", "live draining out! out! nothing"},
    /* never usable: nothing to remember */
    {"G -", "out nothing"},
    {"G L", "out draining"},
};

struct seen {
    const char *name;
    const char *says;
};

static const char *text_of(enum server_state state, bool announced)
{
    return state == SERVER_OUT && announced ? "out!" : server_state_name(state);
}

static void on_gone(void *arg, const char *name, bool announced)
{
    struct seen *s = arg;
    ck_assert_str_eq(name, "n1");
    ck_assert_str_eq(s->says, "nothing");
    s->says = text_of(SERVER_OUT, announced);
}

static const char *pass(struct server_states *s, char sign, uint64_t now_ms, uint64_t timeout_ms)
{
    static const char signs[] = {
        [SIGN_USABLE] = 'U', [SIGN_ENDING] = 'T', [SIGN_LEAVING] = 'L', [SIGN_EXCLUDED] = 'E', [SIGN_GONE] = 'G'};
    struct seen seen = {.says = "nothing"};
    struct server_step step = {0};
    server_states_begin(s, now_ms, timeout_ms);
    if (sign != '-') {
        const char *at = memchr(signs, sign, sizeof(signs));
        ck_assert_msg(at != NULL, "sign '%c'", sign);
        step = server_states_see(s, "n1", (enum server_sign)(at - signs));
        ck_assert(step.state == SERVER_OUT || !step.announced);
        ck_assert((step.state == SERVER_DRAINING) == (step.until_ms != 0));
    }
    server_states_end(s, on_gone, &seen);
    ck_assert_uint_eq(server_states_due_ms(s), step.until_ms);
    if (sign == '-')
        return seen.says;
    ck_assert_str_eq(seen.says, "nothing");
    return text_of(step.state, step.announced);
}

TEST_EACH(lives, array_len(rows))
{
    cleanup(mem_free_ptr) char *life = mem_strdup(rows[_i].life);
    cleanup(buf_fini) struct buf said = {0};
    struct server_states *s = server_states_new();
    uint64_t now_ms = 5000, by = 0;
    char *rest = life;
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] == '+') {
            ck_assert(str_parse_uint(word + 1, UINT32_MAX, &by) == 0);
            now_ms += by;
        } else {
            buf_printf(&said, "%s%s", said.len > 0 ? " " : "", pass(s, word[0], now_ms, TIMEOUT_MS));
        }
    ck_assert_msg(strcmp(buf_str(&said), rows[_i].says) == 0, "%s: %s, not %s", rows[_i].life, buf_str(&said),
                  rows[_i].says);
    server_states_free(s);
}

TEST(no_time_to_drain)
{
    struct server_states *s = server_states_new();
    ck_assert_str_eq(pass(s, 'U', 1, 0), "live");
    ck_assert_str_eq(pass(s, 'L', 2, 0), "out!");
    ck_assert_str_eq(pass(s, 'L', 3, 0), "out!");
    ck_assert_str_eq(pass(s, 'U', 4, 0), "live");
    server_states_free(s);
    server_states_free(NULL);
}

TEST(due_is_the_first_end)
{
    struct server_states *s = server_states_new();
    ck_assert_uint_eq(server_states_due_ms(s), 0);
    server_states_begin(s, 100, TIMEOUT_MS);
    ck_assert_uint_eq(server_states_see(s, "b", SIGN_LEAVING).until_ms, 1100);
    server_states_end(s, NULL, NULL);
    server_states_begin(s, 300, TIMEOUT_MS);
    ck_assert_uint_eq(server_states_see(s, "a", SIGN_LEAVING).until_ms, 1300);
    ck_assert_uint_eq(server_states_see(s, "b", SIGN_LEAVING).until_ms, 1100);
    ck_assert_uint_eq(server_states_see(s, "c", SIGN_USABLE).until_ms, 0);
    server_states_end(s, NULL, NULL);
    ck_assert_uint_eq(server_states_due_ms(s), 1100);
    server_states_begin(s, 1100, TIMEOUT_MS);
    ck_assert_int_eq(server_states_see(s, "a", SIGN_LEAVING).state, SERVER_DRAINING);
    ck_assert_int_eq(server_states_see(s, "b", SIGN_LEAVING).state, SERVER_OUT);
    server_states_end(s, NULL, NULL);
    ck_assert_uint_eq(server_states_due_ms(s), 1300);
    server_states_begin(s, 1200, TIMEOUT_MS); /* a is not seen */
    server_states_end(s, NULL, NULL);
    ck_assert_uint_eq(server_states_due_ms(s), 0);
    server_states_free(s);
}

TEST(announced_after_all)
{
    struct server_states *s = server_states_new();
    server_states_announce(s, "n1"); /* not known: nothing happens */
    ck_assert_str_eq(pass(s, 'U', 1, TIMEOUT_MS), "live");
    server_states_announce(s, "n1"); /* nor to one that is not out */
    ck_assert_str_eq(pass(s, '-', 2, TIMEOUT_MS), "out");
    server_states_announce(s, "n1");
    ck_assert_str_eq(pass(s, '-', 3, TIMEOUT_MS), "out!");
    ck_assert_str_eq(pass(s, 'G', 4, TIMEOUT_MS), "out!");
    ck_assert_str_eq(pass(s, 'U', 5, TIMEOUT_MS), "live");
    ck_assert_str_eq(pass(s, '-', 6, TIMEOUT_MS), "out");
    server_states_free(s);
}
