/* src/haproxy/map_commands: where the order of a map's entries counts for nothing, and the commands for a few of them. */
#include "haproxy/map_commands.h"

#include "../test.h"

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

#define FIVE_MORE "v 1\nw 2\nx 3\ny 4\nz 5\n"
#define FIVE "a 1\nb 2\nc 3\nd 4\ne 5\n"

static const struct {
    const char *now, *next, *commands; /* NULL: all of it is sent */
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

TEST_EACH(too_many_commands, 2)
{
    cleanup(buf_fini) struct buf now = {0}, next = {0}, got = {0};
    for (int i = 0; i < 5 * MAP_COMMANDS_MAX; i++) {
        buf_printf(&now, "k%d 1\n", i);
        buf_printf(&next, "k%d %d\n", i, i < MAP_COMMANDS_MAX + _i ? 2 : 1);
    }
    ck_assert_int_eq(map_commands_print(buf_str(&now), buf_str(&next), "/m", &got), _i == 0);
}
