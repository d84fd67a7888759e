#include "sync/inspect_report.h"

#include <stdlib.h>

static void backend_end(struct inspect_backend *b)
{
    plan_fini(&b->plan);
    desired_fini(&b->wish);
    backend_fini(&b->actual);
    explanation_fini(&b->explanation);
    for (size_t i = 0; i < b->reason_count; i++) {
        free(b->reasons[i].server);
        free(b->reasons[i].text);
    }
    free(b->reasons);
}

void inspect_report_fini(struct inspect_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        backend_end(&r->backends[i]);
    free(r->backends);
    free(r->missing);
    free(r->warning);
    free(r->nearest);
    *r = (struct inspect_report){0};
}

enum inspect_verdict inspect_verdict(const struct inspect_backend *b)
{
    static const enum inspect_verdict verdicts[] = {
        [PLAN_WAIT] = INSPECT_WAITING,      [PLAN_IN_STEP] = INSPECT_IN_STEP,
        [PLAN_WRITE] = INSPECT_CHANGES,     [PLAN_RELOAD_AGAIN] = INSPECT_RELOAD_AGAIN,
        [PLAN_HOLD] = INSPECT_HOLD,         [PLAN_BRAKE] = INSPECT_BRAKE,
        [PLAN_WITHHELD] = INSPECT_WITHHELD, [PLAN_REFUSE] = INSPECT_REFUSED,
    };
    return b->seen ? verdicts[b->plan.verdict] : INSPECT_UNSEEN;
}

const char *inspect_verdict_word(enum inspect_verdict v)
{
    static const char *const words[] = {
        [INSPECT_IN_STEP] = "in_step", [INSPECT_CHANGES] = "changes", [INSPECT_RELOAD_AGAIN] = "reload_again",
        [INSPECT_HOLD] = "hold",       [INSPECT_BRAKE] = "brake",     [INSPECT_WITHHELD] = "withheld",
        [INSPECT_REFUSED] = "refused", [INSPECT_WAITING] = "waiting", [INSPECT_UNSEEN] = "unseen",
    };
    return words[v];
}

static int status_of(enum inspect_verdict v)
{
    switch (v) {
    case INSPECT_IN_STEP:
        return EXIT_SUCCESS;
    case INSPECT_CHANGES:
    case INSPECT_RELOAD_AGAIN:
    case INSPECT_HOLD:
    case INSPECT_BRAKE:
    case INSPECT_WITHHELD:
        return INSPECT_EXIT_CHANGES;
    case INSPECT_REFUSED:
    case INSPECT_WAITING:
    case INSPECT_UNSEEN:
        break;
    }
    return INSPECT_EXIT_UNKNOWN;
}

int inspect_plan_status(const struct inspect_report *r)
{
    int worst = r->missing != NULL ? INSPECT_EXIT_UNKNOWN : EXIT_SUCCESS;
    for (size_t i = 0; i < r->count && worst != INSPECT_EXIT_UNKNOWN; i++) {
        int status = status_of(inspect_verdict(&r->backends[i]));
        if (status != EXIT_SUCCESS)
            worst = status;
    }
    return worst;
}

int inspect_explain_status(const struct inspect_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->backends[i].node_known)
            return EXIT_SUCCESS;
    return INSPECT_EXIT_UNKNOWN;
}
