/* Base64 (RFC 4648, section 4) as kubeconfigs hold it: strict, but for line breaks and spaces, which are skipped. */
#ifndef SETTINGS_KUBECONFIG_BASE64_H
#define SETTINGS_KUBECONFIG_BASE64_H

#include "base/compiler.h"

/* The decoded text, to be wiped by the caller where it is a secret. NULL: no base64, or it decodes to something with a
 * NUL in it, which no text has. Allocates. */
char *base64_decode_text(const char *s) must_check;

/* Without line breaks. Allocates. */
char *base64_encode(const char *text) must_check;

#endif
