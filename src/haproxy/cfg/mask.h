/*
 * Lines of a haproxy.cfg as they may be shown, in a log or by a command: what is a secret in them, or may well be one,
 * is "***". The one place that knows which words those are: passwords of userlists and of `stats auth`, values of
 * headers that carry credentials, what is compared with them, what is sent to a server that is checked, values of the
 * environment, arguments of Lua and of programs, keys within converters, credentials in URLs (HAProxy's configuration
 * manual). A word that may be one is a secret. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

#define CFG_MASK "***"

/* Adds the line without its comment: words with one blank between, each as it stands there. It ends with "..." where it
 * would have more than max_bytes. */
void cfg_mask_line(const char *line, size_t len, size_t max_bytes, struct buf *out);

/* What HAProxy, or another who has read text, says of it: it may quote words. Allocates. */
char *cfg_mask_message(const char *message, const char *text) must_check;
