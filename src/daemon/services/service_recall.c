#include "daemon/services/service_recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define WORDS_MAX 8 /* server NAME ADDRESS port N no-check-send-proxy weight N */

struct recall {
    struct service_servers servers; /* backend NULL: not in one */
    size_t room;
    void (*fn)(void *arg, const struct service_servers *servers);
    void *arg;
};

static void recall_end(struct recall *r)
{
    if (r->servers.backend != NULL && r->servers.count > 0)
        r->fn(r->arg, &r->servers);
    r->servers.backend = NULL;
    r->servers.count = 0;
}

/* So many; more than WORDS_MAX: it has more. */
static size_t recall_split(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;
    for (char *word; (word = strsep(&line, " \t")) != NULL;) {
        if (*word == '\0')
            continue;
        if (count == WORDS_MAX)
            return WORDS_MAX + 1;
        words[count++] = word;
    }
    return count;
}

static bool recall_address(char *word, struct service_server *ret)
{
    char *colon = strrchr(word, ':');
    uint64_t port;
    if (colon == NULL || str_parse_uint(colon + 1, UINT16_MAX, &port) != 0 || port == 0)
        return false;
    *colon = '\0';
    if (*word == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        word++;
    }
    ret->address = word;
    ret->port = (uint16_t)port;
    return *word != '\0';
}

static bool recall_state(char *const *words, size_t count, struct service_server *ret)
{
    uint64_t weight;
    size_t check = count >= 2 && str_eq(words[0], "port") ? 2 : 0;
    check += check < count && str_eq(words[check], "no-check-send-proxy");
    words += check;
    count -= check;
    ret->weight = -1;
    ret->state = SERVER_LIVE;
    if (count == 0)
        return true;
    if (count == 1 && str_eq(words[0], "disabled")) {
        ret->state = SERVER_OUT;
        return true;
    }
    if (count != 2 || !str_eq(words[0], "weight") || str_parse_uint(words[1], DESIRED_WEIGHT_MAX, &weight) != 0)
        return false;
    ret->state = weight == 0 ? SERVER_DRAINING : SERVER_LIVE;
    ret->weight = weight == 0 ? -1 : (int)weight;
    return true;
}

static void recall_line(struct recall *r, char *line)
{
    char *words[WORDS_MAX];
    struct service_server s = {0};
    bool header = *line != ' ' && *line != '\t' && *line != '\0' && *line != '#';
    size_t count = recall_split(line, words);
    if (header) {
        recall_end(r);
        if (count == 2 && str_eq(words[0], "backend"))
            r->servers.backend = words[1];
        return;
    }
    if (r->servers.backend == NULL || count < 3 || count > WORDS_MAX || !str_eq(words[0], "server") ||
        !recall_address(words[2], &s) || !recall_state(&words[3], count - 3, &s))
        return;
    s.name = words[1];
    if (r->servers.count == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 16;
        r->servers.list = mem_resize(r->servers.list, r->room, sizeof(r->servers.list[0]));
    }
    r->servers.list[r->servers.count++] = s;
}

void service_recall(const char *text, void (*fn)(void *arg, const struct service_servers *servers), void *arg)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    struct recall r = {.fn = fn, .arg = arg};
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        recall_line(&r, line);
    recall_end(&r);
    free(r.servers.list);
}
