/* What a Data Plane API says of itself at /v3/info: at once, for the doubles of haproxy/dataplane/client. */
#pragma once

#include <string.h>

#include "haproxy/dataplane/client.h"

static const char *api_about_version = "v3.1.0";

void dataplane_get_root(struct dataplane_client *c, const char *path,
                        void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    char body[64];
    (void)c, (void)path;
    int len = snprintf(body, sizeof(body), "{\"api\":{\"version\":\"%s\"}}", api_about_version);
    const struct dataplane_answer a = {.status = 200, .body = body, .body_len = (size_t)len, .version = -1};
    on_answer(arg, &a);
}
