/* Templates without a cluster: a set rendered over the fixtures of a test, and what its assertions say of that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"

struct objects;
struct rendered;
struct template_assertion;
struct template_set;
struct template_test;

/* {"ingresses": [object, ...], ...}: each as its watch would have kept it. One of the same namespace and name is replaced.
 * others: of what the set does not watch, too, which is then left out. ERROR_INVALID: which fixture, and what is wrong with
 * it. */
int fixtures_add(struct objects *o, const struct template_set *set, yyjson_val *fixtures, bool others,
                 struct error *err) must_check;

/* All objects, and the set's own values: {"resources": {"ingresses": [...]}, "extra": {...}}. */
yyjson_doc *fixtures_document(const struct objects *o, const struct template_set *set) must_check;

#define TRIAL_TIMEOUT_MS 10000

struct trial_options {
    const char *haproxy; /* the program; NULL: there is none */
    char *const *environment;
    uint64_t timeout_ms;
    bool unfiltered;
};

/* The fixtures of all tests, and of this one (NULL: none). others: also such as are of what the set does not watch, left
 * out. NULL with ERROR_INVALID. */
struct objects *trial_objects(const struct template_set *set, const struct template_set *fixtures,
                              const struct template_test *test, bool others, struct error *err) must_check;

/* As render_now, with the folders that HAProxy's packages have. */
int trial_render(const struct template_set *set, struct objects *objects, const struct trial_options *o,
                 struct rendered *ret, struct error *err) must_check;

/* Of the environment: HAPROXY_BIN, otherwise haproxy; of PATH or an sbin folder. NULL: none is named, and there is none. To be
 * freed. */
char *trial_haproxy(char *const *environment) must_check;

/* Renders, and asks HAProxy what it says of that. *ret_skipped: why it could not be asked; NULL: it was. */
int trial_check_haproxy(const struct template_set *set, struct objects *objects, const struct trial_options *o,
                        const char **ret_skipped, struct error *err) must_check;

enum trial_verdict { TRIAL_PASSED, TRIAL_FAILED, TRIAL_SKIPPED };

struct trial_finding {
    const struct template_assertion *assertion; /* NULL: of the render itself */
    enum trial_verdict verdict;
    char *why; /* NULL: passed */
};

struct trial_result {
    const struct template_test *test;
    struct trial_finding *findings;
    size_t count;
    size_t failed, skipped;
    uint64_t took_us; /* of the render */
};

/* Whether it is a test of what is rendered, and not of an error. NULL: true. */
bool trial_is_rendered(const struct template_test *test);

void trial_run(const struct template_set *set, const struct template_test *test, const struct trial_options *o,
               struct trial_result *ret);
void trial_result_fini(struct trial_result *r);
