/* The servers engine over any history: as long as somebody is wanted, nothing that it does leaves the running HAProxy
 * without any server in rotation; neither what is told, nor what is written, nor a reload. The world is
 * engine_world.h's. */
#include "../engine_world.h"
#include "../effort.h"
#include "../test.h"

#define HISTORIES 120
#define DESIRED_STATES 60
#define NODES 6

static uint64_t dice;
static char before[SET_BYTES];

static unsigned roll(unsigned sides)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % sides;
}

static size_t count_ready(const char *set)
{
    char copy[SET_BYTES], *rest = copy;
    size_t count = 0;
    set_copy(copy, set);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        count += word[0] != '\0' && strpbrk(word, "*!") == NULL;
    return count;
}

static void look_at_rotation(void)
{
    const char *now = w.running.of[0];
    ck_assert_msg(count_ready(now) > 0, "from \"%s\" to \"%s\": %s", before, now, buf_str(&w.trace));
    set_copy(before, now);
}

/* Any of the nodes, one of them live; only one that has a line drains. */
static void make_desired(char *set)
{
    unsigned live = 1 + roll(NODES);
    set[0] = '\0';
    for (unsigned k = 1; k <= NODES; k++) {
        char name[8];
        snprintf(name, sizeof(name), "n%u", k);
        unsigned way = k == live ? 0 : roll(4);
        if (way > 1 || (way == 1 && !set_has(w.have.of[0], name)))
            continue;
        snprintf(set + strlen(set), SET_BYTES - strlen(set), "%s%s%s", set[0] != '\0' ? " " : "", name,
                 way == 1 ? "*" : "");
    }
}

/* Some of what is asked is answered, in any order, and something else happens before the rest is. */
static void in_the_middle(void)
{
    for (unsigned k = roll(7); k > 0; k--) {
        if (w.call.busy && (!w.busy || roll(2) == 0))
            answer_call();
        else if (w.busy)
            answer();
    }
}

static void setup(void)
{
    world_make_updates();
}

static void teardown(void)
{
    world_end();
}

FIXTURE(setup, teardown)

TEST_EACH(somebody_is_always_there, effort(HISTORIES))
{
    char set[SET_BYTES];
    dice = (uint64_t)_i + 1;
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    w.look = look_at_rotation;
    instance_start(w.target.instance);
    desired("n1 n2 n3", "the first list");
    for (int i = 0; i < DESIRED_STATES; i++) {
        make_desired(set);
        buf_clear(&w.trace);
        buf_printf(&w.trace, "file \"%s\", running \"%s\", wish \"%s\": ", w.have.of[0], w.running.of[0], set);
        desired(set, "MODIFIED slice");
        if (roll(2) == 0)
            in_the_middle();
        else
            pass(roll(4) == 0 ? roll(6000) : roll(400)); /* often before the reload */
    }
    pass(60000);
    ck_assert_msg(in_sync(), "%s", buf_str(&w.trace));
}
