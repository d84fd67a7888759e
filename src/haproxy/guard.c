#include "haproxy/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void guard_init(struct guard *g)
{
    *g = (struct guard){.passed = -1, .refused = -1, .unsure = -1};
}

void guard_fini(struct guard *g)
{
    free(g->problem);
    guard_init(g);
}

static void guard_set_problem(struct guard *g, const char *problem)
{
    char *old = g->problem;
    g->problem = mem_strdup(problem);
    free(old);
}

void guard_refuse(struct guard *g, int64_t version, const char *problem)
{
    g->passed = -1;
    g->refused = version;
    guard_set_problem(g, problem);
}

void guard_read(struct guard *g, int64_t version, bool behind, const struct buf *text, const char *problem,
                const char *defaults_problem)
{
    char digest[DIGEST_SHA256_TEXT_BYTES];
    if (behind && (g->passed == version || g->refused == version))
        return;
    digest_sha256(text->data, text->len, digest);
    if (g->file[0] != '\0' && !str_eq(g->file, digest))
        g->passed = g->refused = -1;
    memcpy(g->file, digest, sizeof(digest));
    if (problem == NULL && g->blind)
        problem = defaults_problem;
    if (problem != NULL)
        guard_refuse(g, version, problem);
    else if (g->blind)
        g->passed = version;
    if (problem == NULL && g->refused != version)
        guard_set_problem(g, NULL);
}

void guard_forget(struct guard *g)
{
    g->passed = g->unsure = -1;
    g->blind = false; /* the API may be another release by now */
    g->file[0] = '?'; /* no digest: what was refused is examined again */
}

bool guard_passed(const struct guard *g, int64_t version)
{
    return g->problem == NULL && g->passed == version;
}

bool guard_wrote(struct guard *g, int64_t was, int64_t version)
{
    bool follows = guard_passed(g, was) && version == was + 1;
    if (follows)
        g->passed = version;
    g->file[0] = '\0';
    return follows;
}

void guard_answer_lost(struct guard *g, int64_t version)
{
    g->unsure = guard_passed(g, version) ? version + 1 : -1;
}

char *guard_compare(struct guard *g, const struct buf *before, const char *after, size_t after_len,
                    const struct cfg_file_managed *ours)
{
    cleanup(cfg_file_fini) struct cfg_file was = {0};
    cleanup(cfg_file_fini) struct cfg_file will = {0};
    struct error err = {0};
    if (cfg_file_init(&was, before->data, before->len, &err) != 0 || cfg_file_init(&will, after, after_len, &err) != 0)
        return mem_strdup(err.message);
    g->blind = was.version < 0 && will.version < 0; /* what it would write has a version */
    cleanup(mem_free_ptr) char *found = cfg_file_compare(&was, &will, ours);
    return found == NULL ? NULL : mem_printf("%s; write them as the API keeps them, see docs/haproxy-side.md", found);
}

void guard_pass(struct guard *g, int64_t version)
{
    g->passed = version;
}
