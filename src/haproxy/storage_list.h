/*
 * What the daemon knows of the files that it put beside a haproxy.cfg, and the list of them that it keeps there, in a file
 * of its own (STORAGE_LIST): another run deletes no other files, and knows which of them are not what runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/storage_files.h"

/* One that was put there, or that is there by a name of the list. */
struct storage_entry {
    enum storage_kind place;
    char *stored;
    char hash[DIGEST_SHA256_HEX_BYTES]; /* of what is there; "": not known */
    bool found;                         /* it was there before: it is never deleted */
    bool present;
    bool changed; /* it is not what runs */
    bool added;   /* there was none while the configuration from before was loaded */
    char *good;   /* what runs, as far as it was read or is never read; NULL: not known */
    size_t good_len;
};

/* In the order of place and stored name, as storage_files has them. A zeroed one is empty. */
struct storage_entries {
    struct storage_entry *list;
    size_t count;
};

void storage_entries_fini(struct storage_entries *s); /* wipes */
/* NULL: none. */
struct storage_entry *storage_entries_find(const struct storage_entries *s, enum storage_kind place,
                                           const char *stored);
/* One that is not there yet. Valid until the next one. */
struct storage_entry *storage_entries_add(struct storage_entries *s, enum storage_kind place, const char *stored);
void storage_entries_drop(struct storage_entries *s, size_t i);
bool storage_entries_changed(const struct storage_entries *s); /* any of them */
/* bytes NULL: they are not known any more. */
void storage_entry_keep(struct storage_entry *e, const char *bytes, size_t len);
void storage_entry_settle(struct storage_entry *e); /* what is there is what runs */

/* Adds those of a list's text, of which one that was known already stays as it is. */
void storage_list_read(struct storage_entries *s, const char *text);
/* Allocates. announces: files that are about to be written; of what they change no digest is shown. NULL: nothing is. */
char *storage_list_text(const struct storage_entries *s, const struct storage_files *announces);

/* "maps": of the list, and of the Data Plane API. */
const char *storage_place_name(enum storage_kind place);
