/* The rules of servers/change/diff as rows of text: what is there, what is wished -> verdict, writes, what was left out, why not. */
#ifndef TESTS_DIFF_TEXT_H
#define TESTS_DIFF_TEXT_H

#include "../../backend_text.h"
#include "servers/change/diff.h"

struct diff_row {
    const char *rule;
    const char *backend;
    const char *desired;
    const char *globs; /* of HAPROXY_KEEP_SERVERS, separated by commas */
    struct diff_rules with;
    enum diff_verdict verdict;
    const char *
        updates; /* "+ ADD", "~ CHANGE (detail)", "- REMOVE", "= SETTINGS", "! CREATE", one a line; see text_of_writes */
    const char *left_out;
    const char *why;
};

#define GOOD "10.0.0.1:80 check weight 100"
#define SETTINGS "balance roundrobin\nadv_check tcp-check\n"
#define DEFAULTS .balance = "roundrobin", .adv_check = "tcp-check"

static inline void globs_split(char *text, char **ret, struct diff_rules *rules)
{
    for (char *glob; text[0] != '\0' && (glob = strsep(&text, ",")) != NULL;) {
        ret[rules->keep_count++] = glob;
        if (text == NULL)
            break;
    }
    rules->keep_servers = ret;
}

/* Behind an addition that parks ", parked", behind a removal that may wait ", lazy". */
static inline char *text_of_writes(const struct diff *d)
{
    struct buf b;
    buf_init(&b, 0);
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

static inline char *text_of_left_out(const struct diff *d)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < d->skip_count; i++)
        buf_printf(&b, "%s%s: %s", i > 0 ? "\n" : "", d->skips[i].name, d->skips[i].reason);
    return buf_take(&b);
}

/* Of each write "n1: REASON", of a loss "n1 lost: REASON" or "n1 lost, announced: REASON". */
static inline char *text_of_reasons(const struct diff *d)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        buf_printf(&b, "%s%s%s: %s", i > 0 ? "\n" : "", c->server.name,
                   !c->loss       ? ""
                   : c->announced ? " lost, announced"
                                  : " lost",
                   c->reason);
    }
    return buf_take(&b);
}

/* reasons NULL: not looked at. */
static inline void diff_row_check(const struct diff_row *row, const char *reasons)
{
    struct diff_rules with = row->with;
    struct backend b;
    struct desired desired;
    struct diff d;
    char *globs[4];
    cleanup(mem_free_ptr) char *glob_text = mem_strdup(row->globs);
    globs_split(glob_text, globs, &with);
    text_backend(&b, "web", row->backend);
    text_desired(&desired, row->desired);
    diff_compute(&b, &desired, &with, &d);
    cleanup(mem_free_ptr) char *updates = text_of_writes(&d), *left_out = text_of_left_out(&d);
    ck_assert_msg(d.verdict == row->verdict, "%s: verdict %d, not %d", row->rule, d.verdict, row->verdict);
    ck_assert_msg(strcmp(updates, row->updates) == 0, "%s:\n  have %s\n  want %s", row->rule, updates, row->updates);
    ck_assert_msg(strcmp(left_out, row->left_out) == 0, "%s:\n  have %s\n  want %s", row->rule, left_out,
                  row->left_out);
    ck_assert_msg(str_eq(d.why, row->why), "%s:\n  have %s", row->rule, d.why != NULL ? d.why : "(none)");
    cleanup(mem_free_ptr) char *have = text_of_reasons(&d);
    ck_assert_msg(reasons == NULL || strcmp(have, reasons) == 0, "%s:\n  have %s\n  want %s", row->rule, have, reasons);
    diff_fini(&d);
    desired_fini(&desired);
    backend_fini(&b);
}

#endif
