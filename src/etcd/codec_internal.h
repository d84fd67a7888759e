/* Shared by codec.c (keys), codec_lease.c and codec_watch.c only: the pieces that all of etcd's messages are made
 * of. */
#ifndef ETCD_CODEC_INTERNAL_H
#define ETCD_CODEC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

struct etcd_kv;

void etcd_codec_put_bytes(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *name, const char *bytes,
                          size_t len);
void etcd_codec_put_int64(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *name, int64_t n);
/* key, and range_end where it is a prefix; "" with prefix: all keys. */
void etcd_codec_put_key(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *key, bool prefix);

/* Text or number; 0 where absent. */
int etcd_codec_get_int64(yyjson_val *of, const char *name, int64_t *ret, struct error *err) must_check;
int etcd_codec_read_kv(yyjson_val *from, struct etcd_kv *ret, struct error *err) must_check;
/* The revision of an answer's header, which has to be there; 0 where it says none. */
int etcd_codec_read_header(yyjson_val *answer, int64_t *ret_revision, struct error *err) must_check;

#endif
