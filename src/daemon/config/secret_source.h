/* One Secret, or a ConfigMap, which is read as one: watched by its name, so that rights by resourceNames are enough. And what a TLS
 * Secret has, as HAProxy reads a certificate: its chain, then the key. */
#pragma once

#include "daemon/daemon.h"
#include "daemon/source.h"
#include "host/timer.h"
#include "kube/informer.h"
#include "model/objects.h"

struct kube_resource;
struct storage_known;

/* To be read by its owner, who starts, stops and pokes its informer. */
struct secret_source {
    struct source source;
    struct secret_object *object; /* NULL: there is none, or it is not known yet; until the loop goes on */
    struct secret_object *past;   /* as it was when that was taken last; NULL: it is so, or none is kept */
    bool keeps_past;
    bool synced; /* a list was complete */
    bool seen;   /* in the list that comes in */
    char *scope, *field_selector;
    struct timer changed;
    void (*callback)(void *arg);
    void *arg;
};

struct secret_source_options {
    const struct kube_resource *of; /* kube_secrets, kube_config_maps */
    const char *namespace, *name;   /* borrowed */
    bool keeps_past;                /* for secret_source_take_past */
    struct metric_table *metrics;
    const struct log *log;
};

/* changed: also when it has synced for the first time; from the loop, requests may be started. */
struct secret_source *secret_source_new(struct event_base *base, struct kube_client *client,
                                        const struct secret_source_options *options, void (*changed)(void *arg),
                                        void *arg) must_check;
void secret_source_free(struct secret_source *s); /* NULL is allowed */

/* As it was when this was asked last, if it has changed since; else NULL. The caller's (secret_record). */
struct secret_object *secret_source_take_past(struct secret_source *s) must_check;

/* NULL: it has none of that key. */
const struct secret_value *secret_value_of(const struct secret_object *o, const char *key);
/* Adds tls.crt, ca.crt (which may be absent) and tls.key as a certificate of that name. o NULL: there is no such Secret.
 * known: as of storage_files_add_known. ERROR_INVALID: why it is none, "it has no key tls.key". */
int secret_certificate_add(const struct secret_object *o, const char *name, struct storage_known *known,
                           struct storage_files *files, struct error *err) must_check;
