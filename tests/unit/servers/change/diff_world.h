/*
 * Random backends, desired states and rules for the property tests of servers/change/diff: servers n0 ... n9, k0 ... k3, of which some are
 * kept or backup, templates, settings, draining servers, spares.
 */
#ifndef TESTS_DIFF_WORLD_H
#define TESTS_DIFF_WORLD_H

#include "diff_text.h"
#include "../../dice.h"

static char kept_k[] = "k*", kept_9[] = "?9";
static char *const property_globs[] = {kept_k, kept_9};

static inline struct diff_rules random_rules(struct dice *dice)
{
    static const char *const balances[] = {NULL, "roundrobin", "leastconn"}, *const checks[] = {NULL, "tcp-check"};
    return (struct diff_rules){.balance = balances[dice_below(dice, 3)],
                               .adv_check = checks[dice_below(dice, 2)],
                               .proxy_v2 = dice_one_in(dice, 2),
                               .keep_servers = property_globs,
                               .own_check_port = dice_one_in(dice, 2),
                               .keep_count = dice_below(dice, array_len(property_globs) + 1),
                               .allow_empty = true};
}

/* Names n0..n9 and k0..k3; each at most once unless `duplicates`. */
static inline void random_backend(struct dice *dice, struct backend *b, bool duplicates)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    for (unsigned i = 0; i < 14; i++) {
        unsigned lines = duplicates ? dice_below(dice, 3) : dice_below(dice, 2);
        for (unsigned k = 0; k < lines; k++) {
            buf_printf(&text, "server %c%u 10.0.0.%u:%u", i < 10 ? 'n' : 'k', i % 10, dice_below(dice, 3) + 1,
                       80 + dice_below(dice, 2));
            buf_add(&text, dice_one_in(dice, 4) ? "" : " check");
            if (dice_one_in(dice, 3))
                buf_printf(&text, " port %u", 32000 + dice_below(dice, 2));
            if (!dice_one_in(dice, 4))
                buf_printf(&text, " weight %u", dice_below(dice, 257));
            buf_add(&text, dice_one_in(dice, 5) ? " backup" : "");
            buf_add(&text, dice_one_in(dice, 5) ? " disabled" : "");
            buf_add(&text, dice_one_in(dice, 3) ? " send-proxy-v2\n" : "\n");
        }
    }
    if (dice_one_in(dice, 3))
        buf_printf(&text, "server-template n 3-%u\n", 3 + dice_below(dice, 3));
    if (dice_one_in(dice, 3))
        buf_add(&text, "default-server send-proxy-v2\n");
    if (dice_one_in(dice, 2))
        buf_add(&text, SETTINGS);
    if (dice_one_in(dice, 4))
        buf_add(&text, dice_one_in(dice, 2) ? "adv_check httpchk\n" : "adv_check httpchk\nhttpchk_params\n");
    text_backend(b, "web", buf_str(&text));
}

static inline void random_desired(struct dice *dice, struct desired *d)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    for (unsigned i = 0; i < 14; i++) {
        bool v6 = dice_one_in(dice, 6);
        if (dice_one_in(dice, 2))
            continue;
        /* k sorts before n */
        buf_printf(&text, "%s%c%u %s%u%s:%u", text.len > 0 ? "; " : "", i < 4 ? 'k' : 'n', i < 4 ? i : i - 4,
                   v6 ? "[fd00::" : "10.0.0.", dice_below(dice, 3) + 1, v6 ? "]" : "", 80 + dice_below(dice, 2));
        buf_add(&text, dice_one_in(dice, 4) ? " draining" : "");
        if (dice_one_in(dice, 3))
            buf_printf(&text, " weight %u", dice_below(dice, 4));
    }
    if (dice_one_in(dice, 2))
        buf_add(&text, "; check-port 32000");
    buf_add(&text, "; out n0 announced its node is going; out n1 its endpoint is not ready");
    text_desired(d, buf_str(&text));
}

/* All the lines that are not ours, in their order. */
static inline char *foreign_text(const struct backend *b, const struct diff_rules *rules)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < b->server_count; i++)
        if (diff_server_is_foreign(&b->servers[i], rules, NULL)) {
            text_print_server(&text, &b->servers[i]);
            buf_printf(&text, " %s\n", b->servers[i].json);
        }
    for (size_t i = 0; i < b->template_count; i++)
        buf_printf(&text, "server-template %s %u %u\n", b->templates[i].prefix, b->templates[i].first,
                   b->templates[i].last);
    return buf_take(&text);
}

static inline bool is_skipped(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->skip_count; i++)
        if (strcmp(d->skips[i].name, name) == 0)
            return true;
    return false;
}

static inline void backend_copy(struct backend *to, const struct backend *from)
{
    text_backend(to, from->name, "");
    text_set(&to->balance, from->balance);
    text_set(&to->adv_check, from->adv_check);
    to->httpchk_params = from->httpchk_params;
    to->default_send_proxy_v2 = from->default_send_proxy_v2;
    to->servers = mem_array(from->server_count, sizeof(to->servers[0]));
    to->server_count = from->server_count;
    for (size_t i = 0; i < from->server_count; i++)
        backend_server_copy(&to->servers[i], &from->servers[i]);
    to->templates = mem_array(from->template_count, sizeof(to->templates[0]));
    to->template_count = from->template_count;
    for (size_t i = 0; i < from->template_count; i++) {
        to->templates[i] = from->templates[i];
        to->templates[i].prefix = mem_strdup(from->templates[i].prefix);
    }
}

#endif
