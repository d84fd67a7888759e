/* Base64 (RFC 4648, section 4) as Kubernetes has it: strict, but for line breaks and spaces, which are skipped. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* The decoded bytes, with a NUL behind them, to be wiped by the caller where they are secret (mem_wiping_free). NULL: no
 * base64. Allocates. */
char *base64_decode(const char *s, size_t *ret_len) must_check;

/* The decoded text, to be wiped by the caller where it is a secret. NULL: no base64, or it decodes to something with a
 * NUL in it, which no text has. Allocates. */
char *base64_decode_text(const char *s) must_check;

/* Without line breaks. Allocates. */
char *base64_encode(const void *bytes, size_t len) must_check;
