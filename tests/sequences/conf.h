/*
 * The configuration of a HAProxy as the model has it: two backends that are ours and one that is another writer's, as the Data
 * Plane API shows it (JSON), as haproxy.cfg has it (text), and as HAProxy runs it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SERVERS_MAX 48
#define BACKENDS 3 /* be and two are ours */
#define OURS 2
#define NAME_BYTES 24
#define HEAD_BYTES 800
#define WORDS_BYTES 128

extern const char *const conf_backends[BACKENDS];

enum flag { UNSAID, ON, OFF };

/* What a line may say, as far as the model goes; a daemon that writes anything else is wrong. */
struct server {
    char name[NAME_BYTES], address[NAME_BYTES];
    unsigned port, check_port; /* 0: none */
    int weight;                /* -1: none */
    enum flag check, maintenance, backup, send_proxy_v2;
    unsigned maxconn;        /* nobody's but an operator's; 0: none */
    char options[32];        /* proxy-v2-options, comma-separated: a field of several values, an operator's, too */
    char words[WORDS_BYTES]; /* of its line in their order, as long as they say the same; "": none */
};

struct section {
    bool exists;
    char mode[8], balance[16];
    enum flag default_maintenance; /* in its default-server line */
    struct server servers[SERVERS_MAX];
    size_t count;
};

/* What a file may have that a write through the API would change the meaning of. */
enum oddity {
    ODDITY_NONE,
    ODDITY_DEFAULTS,  /* two unnamed ones: only a preview of what would be written shows it */
    ODDITY_CONDITION, /* in the lines */
    ODDITY_LATE,      /* a default-server after a server: in the lines */
    ODDITY_FRAGILE,   /* a line in the first backend that is gone once a transaction changes one of its servers */
    ODDITIES
};

struct conf {
    int64_t version;
    char head[HEAD_BYTES]; /* comments that the daemon put at its top, with their newlines */
    struct section of[BACKENDS];
    enum oddity oddity;
    bool changed; /* of a transaction: a server of the first backend is another one than in the file */
};

enum admin { READY, DRAIN, MAINT };

struct running_server {
    char name[NAME_BYTES], address[NAME_BYTES];
    unsigned port;
    int weight;
    enum admin admin;
    bool backup, down;      /* down: by its health check */
    bool unchecked;         /* a check that nobody has enabled yet */
    bool added;             /* by a command, before its line */
    bool disabled;          /* when it was loaded */
    struct server line;     /* as it was loaded, or added */
    unsigned hand;          /* what of it is an operator's: bits of whole.h */
    uint64_t used_until_us; /* it has connections */
};

struct running {
    struct {
        bool exists;
        char balance[16];
        struct running_server servers[SERVERS_MAX];
        size_t count;
    } of[BACKENDS];
};

size_t conf_backend(const char *name);                            /* BACKENDS: there is none of that name */
struct server *section_find(struct section *s, const char *name); /* NULL: none */
void section_put(struct section *s,
                 const struct server *server); /* in place of the one of that name, else at the end */
bool section_remove(struct section *s, const char *name);
bool server_is_ours(const struct server *s); /* not a backup, not named "keep...", nor as another cluster's */
bool server_eq(const struct server *a, const struct server *b);
bool section_says_maintenance(const struct section *s, const struct server *server);

struct running_server *running_find(struct running *r, size_t backend, const char *name);
void running_load(struct running *r, const struct conf *c);

/* The API's JSON. -1: a body that the model does not understand; why says what of it. */
int server_read(const char *json, struct server *ret, char *why, size_t why_bytes);
void server_print(const struct server *s, struct buf *out);
void section_print(const struct section *s, const char *name, struct buf *out);       /* its base fields */
void section_print_whole(const struct section *s, const char *name, struct buf *out); /* and its servers by name */
void section_print_servers(const struct section *s, struct buf *out);
void running_print(const struct running_server *s, struct buf *out);

/* haproxy.cfg */
void conf_print(const struct conf *c, struct buf *out);
void conf_print_written(const struct conf *c, struct buf *out); /* as the API would write it */
