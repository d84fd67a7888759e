/* One difference with parking, from text; the nodes of servers whose name ends with x do not exist. */
#pragma once

#include "diff_text.h"
#include "servers/change/parking.h"

#define N1 "server n1 10.0.0.1:80 check weight 100"
#define N2 "server n2 10.0.0.2:80 check weight 100"
#define N3 "server n3 10.0.0.3:80 check weight 100"
#define N4 "server n4 10.0.0.4:80 check weight 100"
#define LIVE1 "n1 10.0.0.1:80"
#define SPARE5 "; spare n5 10.0.0.5:80"
#define RUNTIME .runtime = true
#define NONE "no endpoint of the Service is on a node of that name"
#define NO_NODE "it was parked, and Kubernetes has no node of that name"

static inline bool node_exists(const void *arg, const char *server)
{
    return !str_has_suffix(server, "x");
}

/* A difference with all that it is made of. */
struct made {
    struct backend b;
    struct desired desired;
    struct diff_rules rules;
    struct parking *parking;
    struct diff d;
};

static inline void made_again(struct made *m, uint64_t now_ms)
{
    diff_fini(&m->d);
    if (m->parking != NULL)
        parking_refresh(m->parking, &m->b, &m->desired, &m->rules, node_exists, NULL, now_ms);
    m->rules.parking = m->parking;
    diff_compute(&m->b, &m->desired, &m->rules, &m->d);
}

static inline void make(struct made *m, unsigned fill, const char *backend, const char *desired)
{
    cleanup(buf_fini) struct buf lines = {0};
    buf_add(&lines, backend);
    for (unsigned i = 0; i < fill; i++)
        buf_printf(&lines, "\nserver p%02u 10.1.0.1:80 disabled", i);
    text_backend(&m->b, "web", buf_str(&lines));
    text_desired(&m->desired, desired);
    m->parking = parking_new(1000);
    made_again(m, 1);
}

static inline void made_fini(struct made *m)
{
    diff_fini(&m->d);
    desired_fini(&m->desired);
    backend_fini(&m->b);
    parking_free(m->parking);
}
