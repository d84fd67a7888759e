/* The way to a HAProxy by its Data Plane API v3, for haproxy/driver. */
#pragma once

#include "haproxy/driver.h"

struct dataplane_client;
struct event_base;

/* Both clients are borrowed. runtime: a second connection, for what overtakes the writing of the file; NULL: the running
 * HAProxy is neither read nor written to, all goes by transactions. */
struct driver *dataplane_driver_new(struct event_base *base, struct dataplane_client *client,
                                    struct dataplane_client *runtime) must_check;
