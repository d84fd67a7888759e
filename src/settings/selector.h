/*
 * Label selectors, checked as the API server checks them, so that a mistake is reported at start and not by a watch
 * that is refused. The grammar is that of labels.Parse, as it is implemented (it takes a little more than its own
 * description): https://pkg.go.dev/k8s.io/apimachinery/pkg/labels#Parse
 *
 *   selector    = [ requirement *( "," requirement ) ]
 *   requirement = [ "!" ] KEY / KEY ( "=" / "==" / "!=" ) [ VALUE ] / KEY ( ">" / "<" ) INTEGER /
 *                 KEY ( "in" / "notin" ) "(" [ VALUE ] *( "," [ VALUE ] ) ")"
 *
 * KEY is [ DNS subdomain of at most 253 characters "/" ] name; a name, and a VALUE that is not empty, has at most 63 of
 * letters, digits, '-', '_' and '.', and begins and ends with a letter or digit. White space stands anywhere between.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* The first thing that is wrong. */
struct selector_fault {
    size_t offset, len; /* in bytes; len 0: the end */
    const char *why;    /* a constant */
};

/* -1: no selector. */
int selector_check(const char *text, struct selector_fault *ret_fault) must_check;
