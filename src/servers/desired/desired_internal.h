/*
 * The inside of servers/desired/desired, for its own files and servers/desired/explain: one computation from the caches
 * to a verdict for each place (desired_places, desired_decide), and the words for it (desired_text). What a run holds
 * points into the caches.
 */
#pragma once

#include "base/buf.h"
#include "base/text_pool.h"
#include "model/cache.h"
#include "servers/desired/desired.h"
#include "model/service_port.h"

/* What one endpoint is good for, from the worst to the best. */
enum rank {
    RANK_UNSERVED,    /* its slice has ports, but not the one that is asked for */
    RANK_NOT_READY,   /* neither ready nor terminating */
    RANK_TERMINATING, /* and serving no more */
    RANK_LEAVING,     /* terminating, but still serving */
    RANK_READY,
};

struct run_set {
    const struct endpoint_set *set;
    const char *name; /* in the run's texts */
};

/* An endpoint at its place: once, however many slices list it, as the best of them says. */
struct placed_endpoint {
    const struct endpoint *endpoint;
    const struct run_set *set;
    uint32_t place; /* index */
    uint16_t port;  /* its own, of the chosen name; 0: none */
    uint8_t rank;
};

/* The ready or the leaving endpoints of a place. */
struct tally {
    const struct placed_endpoint *first; /* NULL: there are none */
    const struct placed_endpoint
        *elsewhere; /* has a port, but not at an address of its node; of the server's family if any is */
    const struct run_set *sets[DESIRED_SETS]; /* that list them; for messages */
    uint32_t count4, count6;
    uint16_t own_port; /* the lowest at the node's own address; 0: none */
    bool same_family;  /* elsewhere is of the server's family */
    bool more_sets;
};

/* Why a place gives no server. */
enum cause {
    CAUSE_NONE,
    CAUSE_UNKNOWN_NODE,
    CAUSE_EXCLUDED,
    CAUSE_NO_ADDRESS,
    CAUSE_NOT_IP,     /* an endpoint without a node whose address is no IP address */
    CAUSE_FAMILY,     /* the same, of an address family that the settings exclude */
    CAUSE_NOT_A_NODE, /* the same, where only nodes count */
    CAUSE_NO_ENDPOINT,
    CAUSE_NONE_USABLE, /* in the whole Service */
    CAUSE_UNSERVED,
    CAUSE_NOT_READY,
    CAUSE_TERMINATING,
    CAUSE_OTHERS_READY, /* leaving, and no port to drain at is known */
    CAUSE_DRAINED,
    CAUSE_NO_PORT,
    CAUSE_OTHER_FAMILY,
    CAUSE_NOT_AT_NODE,    /* undecided: the endpoint's port is not the node's */
    CAUSE_NO_PORT_AT_ALL, /* undecided: none has one */
    CAUSE_NAME_TAKEN,
    CAUSE_SAME_SERVER, /* another spelling of an address that has its server */
    /* Of no place: a server that the states remember. */
    CAUSE_GONE_FROM_NODE,
    CAUSE_GONE_NODE,
    CAUSE_GONE_ENDPOINT,
};

/* What the sentences about all places have in common; in the texts of a desired state. */
struct desired_words {
    bool of_endpoints; /* Endpoints, no slices */
    bool node_port;
    bool fixed_port;
    bool own_port; /* the port is the endpoint's own */
    enum ip_family_rule family;
    uint64_t drain_timeout_ms;
    const char *port, *port_reason;
    const char *node_selector; /* NULL: none */
    const char *addresses;     /* that are asked for */
    struct desired_why every;  /* the endpoints behind every node */
};

/* Where endpoints are: a node, or an address of its own where they name none. Gives at most one server. */
struct place {
    const char *name;                   /* the node's, or the endpoint's address */
    bool named;                         /* it is a node */
    const struct node *node;            /* NULL: not known, or not named */
    const char *exclusion;              /* of node_exclusion */
    const char *address;                /* its server's, as the object spells it; NULL: none */
    const struct placed_endpoint *best; /* the first of the highest rank; NULL: no endpoint is here */
    uint32_t endpoint_count;
    struct tally ready, leaving;
    const char *server; /* the name in HAProxy, in the run's texts; NULL: unknown */

    /* The verdict. */
    enum cause cause;
    enum server_sign sign;
    const struct tally *by; /* the endpoints that speak for it; NULL: none, or all that the Service has */
    uint16_t port;
    const struct place *winner; /* with CAUSE_NAME_TAKEN */
    struct server_step step;

    bool says_port, says_family; /* it is why the run's any_port and any_same_family are true */
};

/* A run over some of the places only: what the others say. */
struct run_rest {
    bool ready; /* a ready endpoint stands behind a server */
    bool port, same_family;
    bool alone; /* a server is an endpoint that names no node */
};

#define PORTS_SHOWN 8

struct run_port {
    const char *name;
    uint16_t number;
};

struct run {
    const struct desired_input *in;
    const struct mapping_rules *rules;
    const struct service *service; /* NULL: not known */
    char *where;                   /* "ns/web" */
    const struct cache *cache;     /* of the slices, or else the Endpoints; NULL: in->objects */
    struct port_choice port;
    bool node_port; /* the port is one of the Service's nodePorts: served by kube-proxy on every node */
    bool all;       /* every eligible node, with or without endpoints */

    struct text_pool *texts; /* of what outlives the run */
    const struct desired_words *words;
    struct run_set *sets; /* ordered by name */
    size_t set_count;
    size_t endpoint_count; /* as listed */
    bool several_ports;    /* where no setting says which is meant */
    struct run_port ports[PORTS_SHOWN];
    size_t port_count; /* different ones, including those for which ports[] has no room */

    uint32_t *listed; /* the place of each endpoint, as listed; NULL: not asked for */
    size_t listed_count;
    bool part;
    struct run_rest rest; /* of a part */

    struct place *places;
    size_t place_count, place_room;
    struct placed_endpoint *placed;
    size_t placed_count;
    struct tally ready, leaving; /* of all places */
    bool any_port;               /* a usable endpoint has one */
    bool any_same_family;        /* a usable endpoint is of its node's own address family */

    bool any_ready;       /* a ready endpoint stands behind a server */
    struct place **order; /* by server name, then by what is to become of it, then by place name */
    char *problem;        /* undecided */
};

/* ---- desired_servers.c ---- */

/* texts: to add to; NULL: new ones. -1: not synced; *ret_problem says what (free() it), and there is nothing to
 * close. */
int run_open(struct run *r, const struct desired_input *in, struct text_pool *texts, char **ret_problem) must_check;
/* All of it; list: with r->listed. -1: not synced, as ret says, and there is nothing to close. */
int run_all(struct run *r, const struct desired_input *in, bool list, struct desired *ret) must_check;
/* Their state; the texts stay. known: what it was before, whose texts are used again; NULL: nothing. */
struct desired_server run_server(const struct run *r, const struct place *p,
                                 const struct desired_server *known) must_check;
/* empty: there is no server at all. */
void run_add_skip(const struct run *r, const struct place *p, bool empty, struct desired *d);
/* What the states remember; d->due_ms. */
void run_end_pass(const struct run *r, struct desired *d);
void run_close(struct run *r);
/* Fills d->spares where they are asked for; d->servers is there. */
void run_spares(const struct run *r, struct desired *d);
/* The same where the servers have the names that they had, and no node changed. */
void run_spares_again(const struct run *r, const struct desired *last, struct desired *d);

/* ---- desired_places.c ---- */

/* Fills places. ask: a node that has to be among them if it is known, endpoints or not; NULL: none. */
void run_read(struct run *r, const char *ask, bool list);                        /* list: with r->listed */
struct place *run_find_place(const struct run *r, const char *name, bool named); /* NULL: there is none */
size_t run_hash(const char *name, bool named) must_check;

/* The same for a part, with what the others say: room for so many endpoints and sets; each place once, then its endpoints in
 * the order of the sets. endpoint_count: of all. */
struct reader;
struct reader *run_part_begin(struct run *r, struct run_rest rest, size_t room, size_t set_count) must_check;
const struct run_set *run_part_set(struct reader *in, const struct endpoint_set *set, const char *name) must_check;
uint32_t run_part_place(struct reader *in, const char *name, bool named, const char *server) must_check;
void run_part_endpoint(struct reader *in, const struct run_set *set, const struct endpoint_group *g,
                       const struct endpoint *e, uint32_t place);
void run_part_end(struct reader *in, size_t endpoint_count);

static inline uint32_t tally_count(const struct tally *t)
{
    return t->count4 + t->count6;
}

/* The port has to be the endpoint's own: no nodePort reaches what is on no node. */
static inline bool place_needs_own_port(const struct run *r, const struct place *p)
{
    return r->port.source == PORT_ENDPOINT || (!p->named && r->node_port);
}

/* ---- desired_decide.c ---- */

/* The verdicts and the problem. */
void run_judge(struct run *r);
/* Then, with r->problem NULL also a step of each server's state. */
void run_settle(struct run *r);
bool place_stands_ready(const struct run *r, const struct place *p);
/* The user has to decide. */
bool cause_is_undecided(enum cause c);
/* It has endpoints that would be used if nothing else were in the way. */
bool place_is_usable(const struct run *r, const struct place *p);

/* ---- desired.c ---- */

struct desired_skip *desired_new_skip(struct desired *d) must_check; /* zeroed */

/* ---- desired_text.c ---- */

/* The texts of what is said of r's places. */
const struct desired_words *run_say(const struct run *r) must_check;
/* What a reason is made of. */
struct desired_why run_why(const struct run *r, const struct place *p) must_check;
/* The same of a place that has no server; its texts are d's. */
struct desired_skip run_skip(const struct place *p, struct desired *d) must_check;
/* The endpoints of t, which is p's; kind: what is said of them. */
struct desired_why run_endpoints(const struct place *p, const struct tally *t, enum desired_why_kind kind) must_check;

/* Allocated sentences. */
/* place: its node, or the endpoint's address. NULL: no reason was given. */
char *text_server_reason(const struct desired_words *w, const char *place, const struct desired_why *why) must_check;
/* "2 ready endpoints on node n1 (slice a)". */
char *text_endpoints(const struct desired_words *w, const char *place, const struct desired_why *why) must_check;
char *text_duration(uint64_t ms) must_check; /* "30s", "1m30s", "1500ms" */

/* ---- desired_problem.c: what concerns no single place ---- */

const char *service_lack(const struct run *r); /* "may not be read", "does not exist" */
char *problem_several_ports(struct run *r) must_check;
char *problem_all_needs_port(const struct run *r) must_check;
char *problem_of_place(const struct run *r, const struct place *p) must_check;
char *problem_empty(const struct run *r, const struct desired *d) must_check;

/* SERVER_WEIGHTS=endpoints says something about the nodes. */
bool run_counts_endpoints(const struct run *r);
/* Settings that have no effect; NULL: none. *ret_check_port: where each node answers health checks; left where there is none. */
char *run_notes(const struct run *r, uint16_t *ret_check_port) must_check;
