/* Services that say by annotations how HAProxy is to serve them: struct annotated_service. */
#ifndef KUBE_DECODE_DECODE_ANNOTATED_H
#define KUBE_DECODE_DECODE_ANNOTATED_H

#include "kube/resource.h"

/* Annotations are kept whose name begins with one of these, with a value of at most 4096 bytes. Borrowed. */
struct annotated_prefixes {
    const char *list[2]; /* NULL: none */
};

/* prefixes have to live as long as what it decodes. */
struct kube_resource kube_annotated_services(const struct annotated_prefixes *prefixes) must_check;

#endif
