/* Annotations by which other controllers protect a host. A user who comes from one of them believes that they protect it here, too. Pure. */
#pragma once

#include <stdbool.h>

/* Whether that annotation asks for one that this program does not give: authentication, lists of clients, client certificates,
 * TLS to the pod itself, limits for each client, a filter of requests. A value that switches it off does not. */
bool asks_for_protection(const char *annotation, const char *value);
