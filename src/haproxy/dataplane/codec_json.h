/* What the parts of the codec share beside json/read: HAProxy's switches. */
#ifndef HAPROXY_DATAPLANE_CODEC_JSON_H
#define HAPROXY_DATAPLANE_CODEC_JSON_H

#include "json/read.h"

/* "enabled" or "disabled"; absent, null and "" give false. */
int codec_get_switch(yyjson_val *obj, const char *key, bool *ret, struct error *err) must_check;

#endif
