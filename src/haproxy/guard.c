#include "haproxy/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"

void guard_init(struct guard *g)
{
    *g = (struct guard){.passed = -1, .refused = -1, .unsure = -1};
}

static void guard_hold(struct guard *g, struct cfg_content *file)
{
    cfg_content_hold(&g->file, file);
    g->digest[0] = '\0';
}

void guard_let_file_go(struct guard *g)
{
    if (g->file == NULL)
        return;
    digest_sha256(g->file->text, g->file->len, g->digest);
    cfg_content_hold(&g->file, NULL);
}

/* Another one than was read last; what the daemon itself has written since is none. */
static bool guard_is_other(const struct guard *g, const struct cfg_content *file)
{
    char digest[DIGEST_SHA256_TEXT_BYTES];
    if (g->file != NULL)
        return !cfg_content_same(g->file, file);
    if (g->digest[0] == '\0')
        return false;
    digest_sha256(file != NULL ? file->text : "", file != NULL ? file->len : 0, digest);
    return !str_eq(g->digest, digest);
}

void guard_fini(struct guard *g)
{
    guard_hold(g, NULL);
    free(g->problem);
    guard_init(g);
}

void guard_refuse(struct guard *g, int64_t version, const char *problem)
{
    char *old = g->problem;
    g->passed = -1;
    g->refused = version;
    g->problem = mem_strdup(problem);
    free(old);
}

void guard_read(struct guard *g, int64_t version, bool behind, struct cfg_content *file, const char *problem,
                const char *defaults_problem)
{
    if (behind && (g->passed == version || g->refused == version))
        return;
    if (guard_is_other(g, file))
        g->passed = g->refused = -1;
    guard_hold(g, file);
    if (file == NULL)
        g->digest[0] = '?'; /* no digest: any other reading is another */
    if (problem == NULL && g->blind)
        problem = defaults_problem;
    if (problem != NULL) {
        guard_refuse(g, version, problem);
        return;
    }
    if (g->blind)
        g->passed = version;
    if (g->refused != version) {
        free(g->problem);
        g->problem = NULL;
    }
}

void guard_forget(struct guard *g)
{
    g->passed = g->unsure = -1;
    g->blind = false; /* the API may be another release by now */
    guard_hold(g, NULL);
    g->digest[0] = '?'; /* what was refused is examined again */
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
    guard_hold(g, NULL);
    return follows;
}

void guard_answer_lost(struct guard *g, int64_t version)
{
    g->unsure = guard_passed(g, version) ? version + 1 : -1;
}

char *guard_compare(struct guard *g, struct cfg_content *before, const char *after, size_t after_len,
                    const struct cfg_file_managed *ours)
{
    cleanup(cfg_file_fini) struct cfg_file will = {0};
    struct error err = {0};
    const struct cfg_file *was = cfg_content_file(before, &err);
    if (was == NULL || cfg_file_init(&will, after, after_len, &err) != 0)
        return mem_strdup(err.message);
    g->blind = was->version < 0 && will.version < 0; /* what it would write has a version */
    cleanup(mem_free_ptr) char *found = cfg_file_compare(was, &will, ours);
    return found == NULL ? NULL : mem_printf("%s; write them as the API keeps them, see docs/haproxy-side.md", found);
}

void guard_pass(struct guard *g, int64_t version)
{
    g->passed = version;
}
