/*
 * Changes of servers as the Data Plane API sends them to HAProxy beside a write of the whole file: the words of its header
 * X-Runtime-Actions ("SetServerAddr be n1 10.0.0.1 80;SetServerState be n1 maint"). It changes servers that
 * run: one that is new was added in maintenance before (haproxy/dataplane/server_adds), one that goes stops here, and is deleted behind it. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/change.h"

/* All of them, or none. -1, ERROR_INVALID: they take a reload, and why. */
int server_actions_print(const struct changes *changes, struct buf *ret, struct error *err) must_check;
/* So many bytes of the first of them fit into one header. */
size_t server_actions_fit(const char *actions);
/* The way back: ret is what they change. -1: it is something else; ret is unchanged. */
int server_actions_read(const char *text, size_t len, struct changes *ret) must_check;
