/* src/haproxy/cfg/source: which of a user's files are sent to a Data Plane API, and what is sent in their place. */
#include "haproxy/cfg/damage.h"
#include "haproxy/cfg/source.h"

#include "../test.h"

#define WORDS_8 " w w w w w w w w"
#define WORDS_62 WORDS_8 WORDS_8 WORDS_8 WORDS_8 WORDS_8 WORDS_8 WORDS_8 " w w w w w w"

/* says NULL: it is sent. */
static const struct {
    const char *text;
    size_t len; /* 0: as long as it is */
    const char *says;
} checked[] = {
    {"global\n", 0, NULL},
    {"global", 0, NULL},
    {"global\r\n maxconn 1\r\n", 0, NULL},
    {"# \xc3\xa4\nglobal\r", 0, NULL},
    {".notice x\nglobal\n [\n", 0, NULL},
    {"", 0, "it is empty"},
    {"\n # c\n", 0, "no section"},
    {"<html>\n", 0, "no section"},
    {"a\nglobal\n lo\0g\n", 14, "line 3: a NUL"},
    {"global\n# \xc3\xa4 \xe4\n", 0, "line 2: not UTF-8 (byte 0xe4 in column 6)"},
    {"global\n lo\rg\n", 0, "line 2: a carriage return within"},
    {"global\n.if x\n maxconn 1\n.endif\n", 0, "lines 2, 4: a conditional"},
    {"backend b\n server a 1\n default-server check\n", 0, "line 3: a default-server"},
    {"backend b\n acl a" WORDS_62 "\n", 0, NULL},
    {"backend b\n acl a" WORDS_62 " w # w\n", 0, "line 2: more than 64 words"},
    {"backend b\n acl a \"w" WORDS_62 "\"\n # w w" WORDS_62 "\n", 0, NULL},
    {"backend b\n acl a 'b\n acl \"c\n", 0, "line 2: a quote that does not end"},
    {"backend b\ndefau'lts\n", 0, "line 2: a quote"},
    {"# c\nglobql\n maxconn 1\nfrontend f\n", 0, "line 2: it stands before the first section (line 4)"},
    {"\t.notice \"x\"\n .diag x\nfrontend f\n", 0, NULL},
    /* sections of one name */
    {"global\nglobal\ntraces\ntraces\nfrontend b\nbackend b\nlisten c\n", 0, NULL},
    {"defaults\nbackend b\nbackend c\nbackend \"b\"\n", 0,
     "line 4: a second section \"backend b\" (line 2 begins one)"},
    {"defaults a\nbackend b\ndefaults a\nbackend c\n", 0, "line 3: a second section \"defaults a\" (line 1"},
    {"global\nglobal\n setenv A b\nfrontend b\nglobal\n maxconn 1\n", 0, NULL},
    {"frontend b\nglobal\n maxconn 1\n 'setenv' A b\n", 0,
     "line 4: setenv in a global section behind another section (line 1)"},
    {"global\n setenv A b\nuserlist u\nfrontend b\nglobal\n ssl-default-bind-options x\n", 0,
     "line 6: ssl-default-bind-options in a global section behind another section (line 3)"},
    {"userlist u\nglobal\n resetenv A\n", 0, "line 3: resetenv"},
    {"userlist u\nglobal\n crt-base /a\n", 0, "line 3: crt-base"},
    {"\xef\xbb\xbfglobal\n", 0, "line 1: a byte order mark"},
    {"userlist u\nuserlist u\nuserlist u\n", 0, "line 2: a second section \"userlist u\" (line 1"},
    {"defaults unnamed_defaults_1\ndefaults\ndefaults\n", 0, NULL},
    /* what inherits from nothing */
    {"frontend f\nbackend b\n", 0, NULL},
    {"userlist u\nfrontend f\ndefaults\nbackend b\n", 0, "line 2: frontend f stands before the first defaults"},
    {"defaults a\nfrontend f\n", 0, NULL},
    {"defaults 'a/b'\nfrontend f\n", 0, NULL},
    {"defaults a/b\nfrontend f\ndefaults\n", 0, "line 1: the name of a defaults section, among several"},
    {"defaults a/b\ndefaults\nfrontend f\n", 0, NULL},
    {"defaults\ndefaults b\nbackend x check\n", 0,
     "line 3: more words than HAProxy takes at the beginning of a backend"},
    {"defaults ''\ndefaults b\nbackend x\n", 0, "line 1: more words than HAProxy takes at the beginning of a defaults"},
    {"defaults\ndefaults b\nbackend \"\"\n", 0, "line 3: the name of this backend section is empty: give it one"},
    {"defaults from ''\ndefaults b\nbackend x\n", 0, "line 1: more words than HAProxy takes at the beginning"},
    {"defaults\nbackend x check\n", 0, NULL},
    {"defaults a\ndefaults from a\nbackend x\n", 0, NULL},
};

TEST_EACH(what_is_not_sent, array_len(checked))
{
    cleanup(cfg_file_fini) struct cfg_file f;
    size_t len = checked[_i].len > 0 ? checked[_i].len : strlen(checked[_i].text);
    cleanup(mem_free_ptr) char *text = mem_alloc(len); /* no byte behind it */
    if (len > 0)
        memcpy(text, checked[_i].text, len);
    int result = cfg_source_init(&f, text, len, &flaw);
    if (checked[_i].says == NULL) {
        ck_assert_msg(result == 0, "%s: %s", checked[_i].text, flaw.message);
    } else {
        ck_assert_msg(result == -1 && flaw.kind == ERROR_INVALID, "%s", checked[_i].text);
        ck_assert_msg(str_has_prefix(flaw.message, checked[_i].says) || strstr(flaw.message, checked[_i].says) != NULL,
                      "%s: %s", checked[_i].text, flaw.message);
        ck_assert(f.line_count == 0 && f.section_count == 0);
    }
}

TEST(a_line_is_too_long_from_64_kib_on)
{
    for (size_t extra = 0; extra < 2; extra++) {
        cleanup(buf_fini) struct buf text = {0};
        cleanup(cfg_file_fini) struct cfg_file f;
        buf_add(&text, "global\n # ");
        for (size_t i = 3; i < CFGFILE_LINE_MAX_BYTES - 1 + extra; i++)
            buf_add(&text, "x");
        buf_add(&text, "\nfrontend f\n");
        ck_assert_int_eq(cfg_source_init(&f, text.data, text.len, &flaw), extra == 0 ? 0 : -1);
        ck_assert_msg(extra == 0 || str_has_prefix(flaw.message, "line 2: longer than 64 KiB"), "%s", flaw.message);
    }
}

static const struct {
    const char *text, *sent;
} sent[] = {
    {"global\r\n daemon\r\n", "global\n daemon\n"},
    {"global", "global\n"},
    {"global\r\n\r\n# c\r\n log a\r", "global\n\n# c\n log a\n"},
    {"defaults\nfrontend f\nbackend b\n", "defaults\nfrontend f\nbackend b\n"},
    {"defaults # one\n mode http\nfrontend f # f\ndefaults\nbackend b\nlisten 'l'\n",
     "defaults unnamed_defaults_1 # one\n mode http\nfrontend f from unnamed_defaults_1 # f\n"
     "defaults unnamed_defaults_2\nbackend b from unnamed_defaults_2\nlisten 'l' from unnamed_defaults_2\n"},
    {"defaults a\nfrontend f\ndefaults b from a\nbackend b\nbackend c from a\npeers p\n",
     "defaults a\nfrontend f from a\ndefaults b from a\nbackend b from b\nbackend c from a\npeers p\n"},
    {" defaults  from a\n\tbackend\tb\t#x\ndefaults a\nbackend c",
     " defaults unnamed_defaults_1  from a\n\tbackend\tb from unnamed_defaults_1\t#x\ndefaults a\nbackend c from a\n"},
    /* names that are there already, wherever */
    {"defaults unnamed_defaults_1\ndefaults\nbackend unnamed_defaults_3\ndefaults\nbackend d from unnamed_defaults_4\n",
     "defaults unnamed_defaults_1\ndefaults unnamed_defaults_2\nbackend unnamed_defaults_3 from unnamed_defaults_2\n"
     "defaults unnamed_defaults_5\nbackend d from unnamed_defaults_4\n"},
    {"defaults\nbackend a\ndefaults unnamed_defaults_1\nbackend b\n",
     "defaults unnamed_defaults_2\nbackend a from unnamed_defaults_2\n"
     "defaults unnamed_defaults_1\nbackend b from unnamed_defaults_1\n"},
    {"defaults from\nbackend a\ndefaults from from\n",
     "defaults from\nbackend a from from\ndefaults unnamed_defaults_1 from from\n"},
    /* what HAProxy refuses stays what it is */
    {"defaults\nbackend\ndefaults\n", "defaults unnamed_defaults_1\nbackend\ndefaults unnamed_defaults_2\n"},
    {"defaults a\nbackend b\\\nbackend d\n d\ndefaults b\n",
     "defaults a\nbackend b\\\nbackend d from a\n d\ndefaults b\n"},
};

TEST_EACH(what_is_sent, array_len(sent))
{
    cleanup(cfg_file_fini) struct cfg_file f, again;
    cleanup(buf_fini) struct buf out = {0};
    cleanup(buf_fini) struct buf twice = {0};
    ck_assert_msg(cfg_source_init(&f, sent[_i].text, strlen(sent[_i].text), &flaw) == 0, "%s", flaw.message);
    cfg_source_print(&f, &out);
    ck_assert_str_eq(buf_str(&out), sent[_i].sent);
    ck_assert(!cfg_source_is_as_sent(&f) || strcmp(sent[_i].text, sent[_i].sent) == 0);
    /* what is sent says the same, and is complete */
    ck_assert_msg(cfg_source_init(&again, out.data, out.len, &flaw) == 0, "%s", flaw.message);
    cleanup(mem_free_ptr) char *differs = cfg_file_compare(&f, &again, NULL);
    ck_assert_msg(differs == NULL, "%s", differs);
    cfg_source_print(&again, &twice);
    ck_assert_str_eq(buf_str(&twice), sent[_i].sent);
}
