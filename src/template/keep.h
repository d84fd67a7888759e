/*
 * What is kept of an object that comes in: the paths of its watch's `keep`, all but managedFields and kubectl's last applied
 * configuration without one; always what identifies it (apiVersion, kind; metadata's name, namespace, uid and
 * creationTimestamp).
 */
#pragma once

#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"

struct template_object;
struct template_watch;

/* To be freed by record_free with template_object_record. NULL with ERROR_INVALID: it is no object with a name. */
struct template_object *template_keep(const struct template_watch *w, yyjson_val *from, struct error *err) must_check;
