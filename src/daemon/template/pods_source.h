/*
 * The four objects of TEMPLATE_FROM=pods:NAMESPACE (template/pods), each watched by its name, and what a render takes of them
 * and of the pods that are watched beside them. While one of them is not known there is nothing; one that is gone or wrong is
 * an error; a key that is wrong is left out, reported by the log, and by an Event on its object from the replica that leads.
 */
#ifndef DAEMON_TEMPLATE_PODS_SOURCE_H
#define DAEMON_TEMPLATE_PODS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct checks;
struct event_base;
struct events;
struct objects;
struct pods_source;
struct remarks;
struct render_options;
struct secret_object;
struct set_source_callbacks;
struct set_source_options;

/* The set that is given watches the pods of the services' namespaces. */
struct pods_source *pods_source_new(struct event_base *base, const struct set_source_options *options,
                                    const struct set_source_callbacks *callbacks, void *arg) must_check;
void pods_source_free(struct pods_source *s); /* NULL is allowed */
void pods_source_start(struct pods_source *s);
void pods_source_stop(struct pods_source *s);
void pods_source_poke(struct pods_source *s);

/* For a render of the set that was given last, over the objects that it watches: variables and certificates. */
void pods_source_prepare(struct pods_source *s, const struct objects *objects, struct render_options *options);
void pods_source_tell_to(struct pods_source *s, struct events *events); /* NULL: another replica leads */

const struct secret_object *pods_source_config(const struct pods_source *s); /* as set_source_config_map */
const struct remarks *pods_source_remarks(const struct pods_source *s);      /* what was left out */
bool pods_source_ready(const struct pods_source *s, struct checks *checks);

#endif
