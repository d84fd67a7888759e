/* What all parts of the daemon borrow. The controller fills it before it makes them, a command as far as its parts need it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct buf;
struct checks;
struct events;
struct event_base;
struct history;
struct http;
struct kube_access;
struct kube_client;
struct secret_object;
struct settings;
struct storage_files;
struct metric_table;
struct tracer;

struct daemon {
    struct event_base *base;
    const struct settings *settings;
    const char *version;
    struct metric_table *metrics;     /* NULL: nothing is measured */
    struct history *history;          /* NULL: nothing is remembered */
    struct http *http;                /* NULL: not needed */
    struct kube_client *kube;         /* NULL: not needed */
    const struct kube_access *access; /* of kube; in a pod also its namespace */
    struct tracer *tracer;            /* NULL: no traces */
    const struct log *log;
};
