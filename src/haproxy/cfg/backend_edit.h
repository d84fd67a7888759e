/*
 * Changes of a backend as edits of haproxy.cfg in place: only the words of managed server lines that are to be others, and
 * the backend's lines that the settings ask for, are written; every other byte stays. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/change.h"

/* Adds them to ret, all of what is to be written to f at once: several calls for one file are an error of the caller.
 * A new server line is like the last one of its backend, and stands behind it; a new backend stands at the end.
 * ERROR_INVALID: a line that is to be changed is not there, or one that is new is; ret has to be freed all the same. */
int cfg_backend_edit(const struct cfg_file *f, const struct change *changes, size_t count, struct cfg_edits *ret,
                     struct error *err) must_check;
