/* The inside of haproxy/dataplane/storage, for its own files: storage.c, storage_check.c (are they there, and what would
 * they take). */
#ifndef HAPROXY_DATAPLANE_STORAGE_INTERNAL_H
#define HAPROXY_DATAPLANE_STORAGE_INTERNAL_H

#include "haproxy/dataplane/storage.h"

struct storage_action storage_done(struct storage *s, enum transaction_result result);
struct storage_action storage_get(struct storage *s, enum storage_state state, enum storage_kind place,
                                  const char *stored);
bool storage_is_put(const struct storage_entry *e, const struct storage_file *f); /* nothing is to be written */
/* What was read are its bytes: it need not be put. Not so of a certificate. */
bool storage_take_as_put(const struct storage *s, const struct storage_file *f, struct storage_entry *e);
/* -1: runtime commands cannot change that one, and why. f NULL: the configuration has it no more. added: HAProxy has none. */
int storage_may_run(struct storage *s, const struct storage_file *f, bool added, struct error *err) must_check;

/* storage_check.c: STORAGE_CHECK, what is next; and after an answer of storage_run_foresee. */
struct storage_action storage_check_next(struct storage *s);
struct storage_action storage_check_asked(struct storage *s, const struct dataplane_answer *a);

#endif
