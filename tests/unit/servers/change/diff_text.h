/* The rules of servers/change/diff as rows of text: what is there, what is wished -> verdict, writes, what was left out, why not. */
#pragma once

#include "../../backend_text.h"
#include "servers/change/diff.h"

struct diff_row {
    const char *rule;
    const char *with; /* see text_rules */
    const char *backend, *desired;
    enum diff_verdict verdict;
    const char *says; /* what is written, see text_of_writes; "? NAME: why" it is left out; "because why" nothing is */
    const char *reasons; /* see text_of_reasons; NULL: not compared */
};

#define GOOD "10.0.0.1:80 check weight 100"
#define SETTINGS "balance roundrobin\nadv_check tcp-check\n"
#define DEFAULTS .balance = "roundrobin", .adv_check = "tcp-check"

/* Rules, and what they borrow. */
struct rules_text {
    struct diff_rules rules;
    char *words, *globs[4];
};

static inline bool text_rules_flag(struct diff_rules *r, const char *word)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {{"proxy", &r->proxy_v2},          {"keep-settings", &r->keep_settings}, {"create", &r->create_backend},
                 {"own-port", &r->own_check_port}, {"empty", &r->allow_empty},           {"others-up", &r->others_up},
                 {"runtime", &r->runtime}};
    for (size_t i = 0; i < array_len(flags); i++)
        if (str_eq(word, flags[i].word))
            return *flags[i].flag = true;
    return false;
}

static inline void text_rules_value(struct rules_text *t, const char *word, char *value)
{
    if (str_eq(word, "balance"))
        t->rules.balance = value;
    else if (str_eq(word, "check"))
        t->rules.adv_check = value;
    else if (str_eq(word, "format"))
        t->rules.server_name_format = value;
    else if (str_eq(word, "cluster"))
        t->rules.cluster = value;
    else if (str_eq(word, "adopt"))
        t->rules.adopt = str_eq(value, "keep") ? ADOPT_KEEP : str_eq(value, "rename") ? ADOPT_RENAME : ADOPT_NO;
    else if (str_eq(word, "kept"))
        for (char *glob; (glob = strsep(&value, ",")) != NULL;)
            t->globs[t->rules.keep_count++] = glob;
    else
        ck_abort_msg("rule \"%s\"", word);
}

/* "proxy create balance=roundrobin kept=k*,n?": flags and values, all others as zero has them. */
static inline void text_rules(struct rules_text *t, const char *text)
{
    *t = (struct rules_text){.words = mem_strdup(text)};
    char *rest = t->words;
    t->rules.keep_servers = t->globs;
    for (char *value; (value = strsep(&rest, " ")) != NULL;) {
        const char *word = strsep(&value, "=");
        if (value != NULL)
            text_rules_value(t, word, value);
        else
            ck_assert_msg(word[0] == '\0' || text_rules_flag(&t->rules, word), "rule \"%s\"", word);
    }
}

static inline void rules_text_fini(struct rules_text *t)
{
    free(t->words);
}

/* Behind an addition that parks ", parked", behind a removal that may wait ", lazy". */
static inline char *text_of_writes(const struct diff *d)
{
    struct buf b = {0};
    if (d->create_backend)
        buf_add(&b, "! create");
    if (d->backend_change)
        buf_printf(&b, "= %s", d->backend_detail);
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        buf_printf(&b, "%s%c ", b.len > 0 ? "\n" : "", "+~-"[c->op]);
        text_print_server(&b, &c->server);
        if (c->op == DIFF_CHANGE)
            buf_printf(&b, " (%s)", c->detail);
        else
            ck_assert_str_eq(c->detail, "");
        ck_assert_msg(c->op == DIFF_CHANGE ? c->fields != 0 : c->fields == 0, "fields of %s", c->server.name);
        ck_assert_msg(!c->parks || c->server.maintenance, "%s parks", c->server.name);
        if (c->op == DIFF_ADD && c->parks)
            buf_add(&b, ", parked");
        if (c->lazy)
            buf_add(&b, ", lazy");
        ck_assert_msg((c->server.json == NULL) == (c->op == DIFF_ADD), "json of %s", c->server.name);
    }
    return buf_take(&b);
}

/* With what is left out, what not all lines have, and why nothing is written. */
static inline char *text_of_diff(const struct diff *d)
{
    struct buf b = {0};
    cleanup(mem_free_ptr) char *writes = text_of_writes(d);
    buf_add(&b, writes);
    for (size_t i = 0; i < d->skip_count; i++)
        buf_printf(&b, "%s? %s: %s", b.len > 0 ? "\n" : "", d->skips[i].name, d->skips[i].reason);
    if (d->uneven != NULL)
        buf_printf(&b, "%suneven: %s", b.len > 0 ? "\n" : "", d->uneven);
    if (d->why != NULL)
        buf_printf(&b, "%sbecause %s", b.len > 0 ? "\n" : "", d->why);
    return buf_take(&b);
}

/* Of each write but additions "n1: REASON", of a loss "n1 lost: REASON" or "n1 lost, announced: REASON". */
static inline char *text_of_reasons(const struct diff *d)
{
    struct buf b = {0};
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        if (c->op == DIFF_ADD)
            continue; /* desired_server_reason says it */
        buf_printf(&b, "%s%s%s: %s", b.len > 0 ? "\n" : "", c->server.name,
                   !c->loss       ? ""
                   : c->announced ? " lost, announced"
                                  : " lost",
                   c->reason);
    }
    return buf_take(&b);
}

static inline void diff_row_check(const struct diff_row *row)
{
    cleanup(rules_text_fini) struct rules_text with;
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired desired;
    struct diff d;
    text_rules(&with, row->with);
    text_backend(&b, "web", row->backend);
    text_desired(&desired, row->desired);
    diff_compute(&b, &desired, &with.rules, &d);
    cleanup(mem_free_ptr) char *says = text_of_diff(&d), *reasons = text_of_reasons(&d);
    ck_assert_msg(d.verdict == row->verdict, "%s: verdict %d, not %d", row->rule, d.verdict, row->verdict);
    ck_assert_msg(str_eq(says, row->says), "%s:\n  have %s\n  want %s", row->rule, says, row->says);
    ck_assert_msg(row->reasons == NULL || str_eq(reasons, row->reasons), "%s:\n  have %s\n  want %s", row->rule,
                  reasons, row->reasons);
    diff_fini(&d);
}
