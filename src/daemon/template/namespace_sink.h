/* An informer's sink for the objects of one namespace in a cache that holds those of others, too ("namespace/name"). */
#pragma once

#include "base/compiler.h"
#include "kube/informer.h"

struct cache;
struct namespace_sink;

/* Both borrowed. */
struct namespace_sink *namespace_sink_new(struct cache *to, const char *namespace) must_check;
void namespace_sink_free(struct namespace_sink *s); /* NULL is allowed */
struct informer_sink namespace_sink_of(struct namespace_sink *s) must_check;
