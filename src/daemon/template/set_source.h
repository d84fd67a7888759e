/*
 * Where the template set comes from (TEMPLATE_FROM): a folder, a ConfigMap, or the four objects of pods:NAMESPACE (template/pods);
 * each followed. What a folder or a ConfigMap gives is parsed, and the same bytes are not given twice.
 *
 * While one of the four is not known there is nothing; one that is gone or wrong is an error; a key that is wrong is left out,
 * reported by the log, and by an Event on its object from the replica that leads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct checks;
struct event_base;
struct events;
struct remarks;
struct render_options;
struct secret_object;
struct set_source;
struct template_set;
struct template_source_options;

/* From the loop. */
struct set_source_callbacks {
    void (*changed)(void *arg, struct template_set *set, size_t bytes); /* the callee's now */
    void (*failed)(void *arg, const struct error *err);                 /* it names the source */
};

/* NULL, ERROR_FATAL: no inotify. */
struct set_source *set_source_new(struct event_base *base, const struct template_source_options *options,
                                  const struct set_source_callbacks *callbacks, void *arg,
                                  struct error *err) must_check;
void set_source_free(struct set_source *s); /* NULL is allowed */
void set_source_start(struct set_source *s);
void set_source_stop(struct set_source *s);
void set_source_poke(struct set_source *s);

/* Before a render: reads STATISTICS_PASSWORD_FILE again. */
void set_source_refresh(struct set_source *s);
/* In the child of a render of the set that was given last, which ends with all of it: over pods, variables and certificates. */
void set_source_prepare(struct set_source *s, struct render_options *options);
void set_source_tell_to(struct set_source *s, struct events *events); /* NULL: another replica leads */

const char *set_source_name(const struct set_source *s); /* "ConfigMap ns/name", "pods:ns", or the folder's path */
/* Over pods: what was left out of the four objects; NULL: it is another source. */
const struct remarks *set_source_remarks(const struct set_source *s);
/* SHA-256 of what was given last, in hexadecimal digits; "": nothing, or it is wrong now. */
const char *set_source_hash(const struct set_source *s);
/* As known now; NULL: there is none, or it is a folder. Borrowed until the loop goes on. */
const struct secret_object *set_source_config_map(const struct set_source *s);
bool set_source_ready(const struct set_source *s, struct checks *checks);
