/* src/haproxy/validation_text: what HAProxy said of a configuration that it refused. */
#include "haproxy/cfg/edit.h"
#include "haproxy/validation_text.h"

#include "../test.h"

static const struct {
    const char *message, *text;
} texts[] = {
    {"validation error: exit status 1: msg=\"config parsing [/tmp/x:19] unknown keyword 'bogus' in 'backend' "
     "section\"\nmsg=\"config Error(s) found in configuration file /tmp/x\"\nmsg=\"config Fatal errors found in "
     "configuration.\"",
     "line 19: unknown keyword 'bogus' in 'backend' section"},
    {"msg=\"config [/tmp/x:37] 'server x/a' weight of server a is not within 0 and 256 (999)..\"",
     "line 37: 'server x/a' weight of server a is not within 0 and 256 (999).."},
    {"msg=\"config parsing [/tmp/x:34]: Missing LF on last line\"\nmsg=\"config : parsing [/tmp/y:2] : no \\\"b\\\"\"",
     "line 34: Missing LF on last line; line 2: no \"b\""},
    {"msg=\"config [ALERT] no line\"\nmsg=\"proxy 'x' has none\"", "[ALERT] no line; proxy 'x' has none"},
    {"msg=\"a\"\nmsg=\"b\"\nmsg=\"c\"\nmsg=\"d\"\nmsg=\"e\"\nmsg=\"f\"", "a; b; c; d; e; and 1 more"},
    {"msg=\"config Fatal errors found in configuration.\"", "msg=\"config Fatal errors found in configuration.\""},
    {"msg=\"it is cut", "it is cut"},
    {"msg=\"config parsing [/tmp/x:] a\"", "[/tmp/x:] a"},
    {"msg=\"config parsing [/tmp/x", "[/tmp/x"},
    {"invalid configuration: no newline character found", "invalid configuration: no newline character found"},
    {"", ""},
};

TEST_EACH(what_haproxy_said, array_len(texts))
{
    cleanup(mem_free_ptr) char *text = validation_text(texts[_i].message, NULL, false);
    ck_assert_str_eq(text, texts[_i].text);
}

/* Two lines stand behind line 10, line 20 was taken out. */
static const struct {
    unsigned sent;
    const char *text;
} edited[] = {
    {10, "line 10: no"},
    {11, "a line that is added behind line 10: no"},
    {12, "a line that is added behind line 10: no"},
    {13, "line 11: no"},
    {21, "line 19: no"},
    {22, "line 21: no"},
};

TEST_EACH(lines_are_those_of_the_user, array_len(edited))
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cfg_edits_add(&edits, 10, CFG_EDIT_INSERT, "x", 1);
    cfg_edits_add(&edits, 20, CFG_EDIT_REMOVE, NULL, 0);
    cfg_edits_add(&edits, 10, CFG_EDIT_INSERT, "y", 1);
    cleanup(mem_free_ptr) char *message = mem_printf("msg=\"config parsing [/tmp/x:%u] no\"", edited[_i].sent);
    cleanup(mem_free_ptr) char *text = validation_text(message, &edits, false);
    ck_assert_str_eq(text, edited[_i].text);
}

#define END_26                                                                                             \
    "[ALERT]    (8606) : config : Error(s) found in configuration file : /etc/x.cfg\n[ALERT]    (8606) : " \
    "config : Fatal errors found in configuration.\n"

/* As HAProxy 2.6 and 3.4 have it. */
static const struct {
    const char *said, *text;
} said[] = {
    {"[NOTICE]   (8606) : haproxy version is 2.6.12-1+deb12u4\n[ALERT]    (8606) : config : parsing [/etc/x.cfg:4] : "
     "unknown keyword 'bogus' in 'backend' section\n[ALERT]    (8606) : config : [/etc/x.cfg:5] : 'server b/s1' : "
     "unknown keyword 'nonsense'.\n" END_26,
     "line 4: unknown keyword 'bogus' in 'backend' section; line 5: 'server b/s1' : unknown keyword 'nonsense'."},
    {"[ALERT]    (8612) : Proxy 'f': unable to find required default_backend: 'nope'.\n[WARNING]  (8612) : missing "
     "timeouts for frontend 'f'.\n   | While not properly invalid, you will certainly encounter\n" END_26,
     "Proxy 'f': unable to find required default_backend: 'nope'."},
    {"[ALERT] (1) : config : parsing [/etc/more.cfg:2] : no\n[ALERT] (1) : config : parsing [/etc/x.cfg2:3] : no",
     "/etc/more.cfg, line 2: no; /etc/x.cfg2, line 3: no"},
    {"[ALERT] (1) : config : parsing [/etc/x:3] : no\n", "/etc/x, line 3: no"},
    {"[ALERT] (1) : a\n[ALERT] (1) : b\n[ALERT] (1) : c\n[ALERT] (1) : d\n[ALERT] (1) : e\n[ALERT] (1) : f\n",
     "a; b; c; d; e; and 1 more"},
    {"[ALERT] nobody's\n", "nobody's"},
    {"[ALERT] (1)", ""},
    {"[ALERT]", ""},
    {"Segmentation fault\n", "Segmentation fault\n"},
    {"", ""},
};

TEST_EACH(what_the_program_said, array_len(said))
{
    cleanup(mem_free_ptr) char *text = validation_text_of_program(said[_i].said, "/etc/x.cfg", NULL);
    ck_assert_str_eq(text, said[_i].text);
}

TEST(the_program_s_lines_are_those_of_the_user)
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cfg_edits_add(&edits, 10, CFG_EDIT_INSERT, "x", 1);
    cleanup(mem_free_ptr) char *text =
        validation_text_of_program("[ALERT] (1) : config : parsing [/etc/x.cfg:12] : no\n[ALERT] (1) : config : "
                                   "parsing [/etc/y.cfg:12] : no\n",
                                   "/etc/x.cfg", &edits);
    ck_assert_str_eq(text, "line 11: no; /etc/y.cfg, line 12: no");
}
