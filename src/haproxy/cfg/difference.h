/*
 * What a change of a haproxy.cfg is: in words for people, and what it costs. Pure.
 *
 * The same meaning: equal but for comments, white space, quotes, the order of sections and of lines of different kinds,
 * whether a proxy says its `from` or stands behind that defaults section, how an unnamed one is called, and whether a
 * server says its keywords itself or a default-server before it in the section does (HAProxy's configuration manual,
 * 2.1, 4 "Proxies", 4.2 "default-server"). Where that is not certain, two files differ: a reload too many.
 */
#ifndef HAPROXY_CFG_DIFFERENCE_H
#define HAPROXY_CFG_DIFFERENCE_H

#include "haproxy/cfg/file.h"
#include "haproxy/change.h"

enum cfg_effect {
    CFG_EFFECT_NONE,
    /* HAProxy's runtime API can do all of it (management guide, 9.3 "set server"): a server's address, port, weight under
     * a dynamic algorithm, `disabled`. */
    CFG_EFFECT_RUNTIME,
    /* The same, and servers come and go under a dynamic algorithm ("add server", "del server"). */
    CFG_EFFECT_RUNTIME_SERVERS,
    CFG_EFFECT_RELOAD,
};

#define CFG_DIFFERENCE_MAX 20

/* "backend b: server n1 address, weight", "frontend f: new bind", "backend x: new", "global: maxconn": never a word
 * behind the second of a line, which may be a secret, but for keywords of servers. */
struct cfg_difference {
    enum cfg_effect effect;          /* of all together */
    size_t count;                    /* CFG_EFFECT_NONE: 0 */
    char *texts[CFG_DIFFERENCE_MAX]; /* the first of them */
    char *why;                       /* the first one that takes `effect`; NULL: none */
    struct changes changes;          /* for the runtime API: all of it, unless it takes a reload */
};

/* From `before` to `after`. */
void cfg_difference_init(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after);
void cfg_difference_fini(struct cfg_difference *d);

bool cfg_same_meaning(const struct cfg_file *a, const struct cfg_file *b);

#endif
