/* src/haproxy/map_commands: where the order of a map's entries counts for nothing, and the commands for a few of them. */
#include "haproxy/map_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#include "../test.h"

/* ---- how it is looked up ---- */

static const struct {
    const char *config;
    bool unordered;
} uses[] = {
    {"  use_backend %[req.hdr(host),lower,map(/x/maps/hosts.map)]\n", true},
    {"  http-request set-var(txn.r) var(txn.w),map_str(maps/hosts.map,none)\n", true},
    {"  http-request set-var(txn.r) path,map_beg(./maps/hosts.map) if TRUE\n", true},
    {"map(/x/hosts.map)\nmap_beg(/x/hosts.map)\n", true},
    {"map(/x/hosts.map)\n  # map_reg(/x/hosts.map)\nmap_reg(/x/other-hosts.map)\nmap_reg(/x/hosts.map.old)\n", true},
    {"map_reg(/x/hosts.map)\n", false},
    {"map_end(/x/hosts.map)\n", false},
    {"map_ip(/x/hosts.map)\n", false},
    {"map_int(/x/hosts.map)\n", false},
    {"map_str_int(/x/hosts.map)\n", false}, /* whose values HAProxy may refuse */
    {"map_st(/x/hosts.map)\n", false},
    {"map(/x/hosts.map)\nmap_dom(/x/hosts.map)\n", false},
    {"map_sub(/x/hosts.map)\nmap(/x/hosts.map)\n", false},
    {"acl listed hdr(host) -f /x/hosts.map\nuse_backend %[hdr(host),map(/x/hosts.map)]\n", false},
    {"http-request set-map(/x/hosts.map) %[src] 1\n", false},
    {"lua.map(/x/hosts.map)\n", false},
    {"my_map(/x/hosts.map)\n", false},
    {"(/x/hosts.map)\n", false},
    {"map /x/hosts.map)\n", false},
    {"map(virt@hosts.map)\n", false},
    {"map(\"/x/hosts.map\")\n", false},
    {"setenv F /x/hosts.map\nmap(${F})\n", false},
    {"map(/x/hosts.map", false},
    {"hosts.map)", false},
    {"map(/x/hosts.map,/x/hosts.map)\n", false},
    {"global\n  lua-load /x/mine.lua\nmap(/x/hosts.map)\n", false},
    {"# map(/x/hosts.map)\n", false},
    {"", false},
};

TEST_EACH(how_it_is_looked_up, array_len(uses))
{
    ck_assert_int_eq(map_is_unordered(uses[_i].config, "hosts.map"), uses[_i].unordered);
}

/* ---- what is sent ---- */

#define FIVE_MORE "v 1\nw 2\nx 3\ny 4\nz 5\n"
#define FIVE "a 1\nb 2\nc 3\nd 4\ne 5\n"

static const struct {
    const char *now, *next, *commands; /* NULL: all of it is told */
} changes[] = {
    {FIVE, "a 1\nb 2\nc 3\nd 4\ne 6\n", "set map /m e 6\n"},
    {FIVE, FIVE "f 6\n", "add map /m f 6\n"},
    {FIVE "f 6\n", FIVE, "del map /m f\n"},
    {FIVE, FIVE, ""},
    {FIVE, "# others\ne 5\nd  4\nc 3\nb 2\na 1", ""},
    {FIVE "f 6\ng 7\nh 8\ni 9\n", FIVE "f 7\nx 7\nh 8\ni 9\nj 1\nk 2\nl 3\n",
     NULL}, /* 1 changes, 4 come, 1 goes: of twelve */
    {FIVE "f 6\ng 7\nh 8\ni 9\nj 1\nk 2\nl 3\nm 1\n", FIVE "f 7\nx 7\nh 8\ni 9\nj 1\nk 2\nl 3\nm 1\n",
     "add map /m x 7\nset map /m f 7\ndel map /m g\n"},
    {FIVE, "a 1\nb 2\nc 3\nd 5\n", NULL},
    {"a 1\nb 2\nc 3\nd 4\n", "a 1\nb 2\nc 3\nd 5\n", NULL}, /* a quarter is not few */
    {"", FIVE, NULL},
    {FIVE, "", NULL},
    {"", "", NULL},
    /* keys that are there twice */
    {FIVE FIVE_MORE "a 1\n", FIVE FIVE_MORE "f 1\n", NULL},
    {FIVE, FIVE "a 1\n", NULL},
    {FIVE FIVE_MORE, FIVE FIVE_MORE "f 1\nf 2\n", NULL},
    /* what no command says */
    {FIVE, FIVE "f\n", NULL},
    {FIVE, FIVE "f one two\n", NULL},
    {FIVE, FIVE "f a;b\n", NULL},
    {FIVE, FIVE "f;g 1\n", NULL},
    {FIVE, FIVE "f a\\b\n", NULL},
    {FIVE, FIVE "f 'a'\n", NULL},
    {FIVE, FIVE "f \"a\"\n", NULL},
    {FIVE, FIVE "f <<\n", NULL},
    {FIVE, FIVE " #0x1 1\n", NULL},
    {FIVE, FIVE "f \xc3\xa4\n", NULL},
    {FIVE, FIVE "f \x7f\n", NULL},
    {FIVE " #f 1\n", FIVE, NULL},
    {FIVE "f one two\n", FIVE, "del map /m f\n"},
    {FIVE "f one two\n", FIVE "f 1\n", "set map /m f 1\n"},
    {"f;g one two\n" FIVE, "f;g one two\n" FIVE "h 1\n", "add map /m h 1\n"}, /* which stays */
    {FIVE, FIVE "!$%&()*+,-./:=>?@[]^_`{|}~ !$%&()*+,-./:=>?@[]^_`{|}~\n",
     "add map /m !$%&()*+,-./:=>?@[]^_`{|}~ !$%&()*+,-./:=>?@[]^_`{|}~\n"},
};

TEST_EACH(what_is_sent, array_len(changes))
{
    cleanup(buf_fini) struct buf got = {0};
    buf_add(&got, "left");
    bool few = map_commands_print(changes[_i].now, changes[_i].next, "/m", &got);
    ck_assert_int_eq(few, changes[_i].commands != NULL);
    ck_assert_str_eq(buf_str(&got), few ? changes[_i].commands : "");
}

TEST_EACH(a_command_that_is_too_long, 2)
{
    cleanup(buf_fini) struct buf next = {0}, got = {0};
    size_t bytes = MAP_COMMAND_MAX_BYTES - strlen("/m") - strlen("f") - (_i == 0);
    buf_add(&next, FIVE "f ");
    for (size_t i = 0; i < bytes; i++)
        buf_add(&next, "x");
    ck_assert_int_eq(map_commands_print(FIVE, buf_str(&next), "/m", &got), _i == 0);
}

/* ---- at random: a model carries them out ---- */

#define KEYS 400

struct model {
    int values[KEYS]; /* 0: there is none */
    size_t count;
};

static void model_print(const struct model *m, struct buf *ret)
{
    size_t first = (size_t)rand() % KEYS;
    for (size_t i = 0; i < KEYS; i++) {
        size_t k = (first + i) % KEYS;
        if (m->values[k] > 0)
            buf_printf(ret, "k%zu v%d\n", k, m->values[k]);
    }
}

static void model_set(struct model *m, size_t k, int value)
{
    m->count += (m->values[k] == 0 && value > 0);
    m->count -= (m->values[k] > 0 && value == 0);
    m->values[k] = value;
}

/* HAProxy adds a key that is there a second time, and refuses to change or delete what is not. */
static void model_carry_out(struct model *m, const char *command)
{
    static const char rest[] = " map /m k";
    bool adds = str_has_prefix(command, "add"), deletes = str_has_prefix(command, "del");
    char *end;
    ck_assert(adds || deletes || str_has_prefix(command, "set"));
    ck_assert(str_has_prefix(command + 3, rest));
    size_t k = strtoul(command + 3 + strlen(rest), &end, 10);
    ck_assert(k < KEYS && str_has_prefix(end, deletes ? "\n" : " v"));
    ck_assert_int_eq(m->values[k] == 0, adds);
    int value = deletes ? 0 : (int)strtol(end + 2, NULL, 10);
    ck_assert_int_eq(value == 0, deletes);
    model_set(m, k, value);
}

TEST(at_random)
{
    unsigned sent = 0;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        struct model is = {0}, wanted;
        cleanup(buf_fini) struct buf now = {0}, next = {0}, got = {0};
        size_t differ = 0, changed = (size_t)rand() % 40;
        for (size_t k = (size_t)rand() % KEYS; k < KEYS; k++)
            model_set(&is, k, rand() % 3);
        wanted = is;
        for (size_t i = 0; i < changed; i++)
            model_set(&wanted, (size_t)rand() % KEYS, rand() % 4);
        for (size_t k = 0; k < KEYS; k++)
            differ += is.values[k] != wanted.values[k];
        model_print(&is, &now);
        model_print(&wanted, &next);
        bool few = map_commands_print(buf_str(&now), buf_str(&next), "/m", &got);
        ck_assert_int_eq(few, differ <= MAP_COMMANDS_MAX && 4 * differ < wanted.count);
        if (!few)
            continue;
        for (const char *at = buf_str(&got); *at != '\0'; at = strchr(at, '\n') + 1, sent++)
            model_carry_out(&is, at);
        ck_assert_int_eq(memcmp(is.values, wanted.values, sizeof(is.values)), 0);
    }
    ck_assert_uint_gt(sent, 5000);
}
