#include "haproxy/cfg/server_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/entries.h"
#include "haproxy/cfg/keywords.h"

void cfg_server_words_add(struct cfg_server_words *w, const struct cfg_line *l, size_t first)
{
    for (size_t i = first; i < l->count; i++) {
        size_t len;
        const char *text = cfg_word_meaning(&l->words[i], &len);
        buf_addn(&w->text, text, len);
        buf_addn(&w->text, "", 1);
        w->count++;
    }
}

void cfg_server_words_fini(struct cfg_server_words *w)
{
    buf_fini(&w->text);
    w->count = 0;
}

struct item {
    const char *key, *word, *argument; /* argument NULL: it takes none */
};

/* Said again, the last one counts; of others, some add up. */
static bool is_overriding(const char *word)
{
    static const char *const words[] = {"backup",    "check",  "disabled", "downinter", "enabled", "fall",
                                        "fastinter", "inter",  "maxconn",  "maxqueue",  "minconn", "no-backup",
                                        "no-check",  "no-ssl", "rise",     "slowstart", "ssl",     "weight"};
    return cfg_is_among(word, words, array_len(words));
}

/* false: by this one, the order may matter. */
static bool add_item(struct item *items, size_t *count, struct item item)
{
    for (size_t i = 0; i < *count; i++) {
        struct item *old = &items[i];
        if ((str_eq(old->word, "addr") && str_eq(item.word, "port")) ||
            (str_eq(old->word, "port") && str_eq(item.word, "addr"))) /* which may hold a port, too */
            return false;
        if (!str_eq(old->key, item.key))
            continue;
        if (!is_overriding(item.word) && !(str_eq(old->word, item.word) && str_eq(old->argument, item.argument)))
            return false;
        *old = item;
        return true;
    }
    items[(*count)++] = item;
    return true;
}

/* false: some of the words are not known, or their order may matter. */
static bool take_items(const char *const *words, size_t word_count, struct item *items, size_t *count)
{
    for (size_t i = 0; i < word_count; i++) {
        const struct cfg_keyword *k = cfg_keyword_find(words[i]);
        if (k == NULL || k->form > RAWCFG_TIME)
            return false;
        struct item item = {k->key, words[i], NULL};
        if (cfg_keyword_takes_argument(k) && ++i == word_count)
            return false;
        item.argument = cfg_keyword_takes_argument(k) ? words[i] : NULL;
        if (!add_item(items, count, item))
            return false;
    }
    return true;
}

static int order_of_items(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->key, ((const struct item *)b)->key);
}

static void print_item(struct buf *out, const struct item *item)
{
    buf_printf(out, "%c%s", CFG_BETWEEN_WORDS, item->word);
    if (item->argument != NULL)
        buf_printf(out, "%c%s", CFG_WITHIN_KEYWORD, item->argument);
}

void cfg_server_words_print(const struct cfg_server_words *given, const struct cfg_line *l, size_t first,
                            struct buf *out)
{
    const char *words[CFG_SERVER_WORDS_MAX + RAWCFG_MAX_WORDS];
    struct item items[CFG_SERVER_WORDS_MAX + RAWCFG_MAX_WORDS];
    size_t count = 0;
    cleanup(cfg_server_words_fini) struct cfg_server_words all = {.count = given->count};
    buf_init_secret(&all.text, 0);
    buf_addn(&all.text, buf_str(&given->text), given->text.len);
    cfg_server_words_add(&all, l, first);
    const char *word = buf_str(&all.text);
    for (size_t i = 0; i < all.count; i++, word += strlen(word) + 1)
        words[i] = word;
    bool known = take_items(words, all.count, items, &count);
    if (known && count > 1)
        qsort(items, count, sizeof(items[0]), order_of_items);
    for (size_t i = 0; known && i < count; i++)
        print_item(out, &items[i]);
    if (!known)
        buf_printf(out, "%c" CFG_IN_ORDER, CFG_BETWEEN_WORDS);
    for (size_t i = 0; !known && i < all.count; i++)
        buf_printf(out, "%c%s", CFG_WITHIN_KEYWORD, words[i]);
}
