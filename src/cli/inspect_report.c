#include "cli/inspect_report.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/checks.h"
#include "servers/change/parking.h"

void inspect_report_init(struct inspect_report *r, size_t target_count, size_t mapping_count)
{
    *r = (struct inspect_report){.mappings = mem_array(mapping_count, sizeof(r->mappings[0])),
                                 .mapping_count = mapping_count,
                                 .targets = mem_array(target_count, sizeof(r->targets[0])),
                                 .target_count = target_count};
    for (size_t m = 0; m < mapping_count; m++) {
        desired_init(&r->mappings[m].desired);
        r->mappings[m].explanation.state = SERVER_OUT;
    }
    for (size_t t = 0; t < target_count; t++) {
        r->targets[t].backends = mem_array(mapping_count, sizeof(r->targets[t].backends[0]));
        for (size_t m = 0; m < mapping_count; m++) {
            struct inspect_backend *b = &r->targets[t].backends[m];
            b->of = &r->mappings[m];
            b->desired = &b->of->desired;
            desired_init(&b->named);
            backend_init(&b->actual);
            runtime_init(&b->runtime);
        }
    }
}

static void backend_end(struct inspect_backend *b)
{
    desired_fini(&b->named);
    plan_fini(&b->plan);
    plan_fini(&b->first);
    route_fini(&b->choice);
    admin_states_fini(&b->memory);
    parking_free(b->parking);
    loss_limit_fini(&b->daemon.loss_limit);
    free(b->ways);
    backend_fini(&b->actual);
    runtime_fini(&b->runtime);
    for (size_t i = 0; i < b->reason_count; i++) {
        free(b->reasons[i].server);
        free(b->reasons[i].text);
    }
    free(b->reasons);
}

void inspect_report_fini(struct inspect_report *r)
{
    for (size_t t = 0; t < r->target_count; t++) {
        struct inspect_target *target = &r->targets[t];
        for (size_t m = 0; m < r->mapping_count; m++)
            backend_end(&target->backends[m]);
        free(target->backends);
        free(target->drift);
        free(target->file_problem);
        free(target->file_warning);
        free(target->warning);
    }
    for (size_t m = 0; m < r->mapping_count; m++) {
        desired_fini(&r->mappings[m].desired);
        explanation_fini(&r->mappings[m].explanation);
    }
    free(r->targets);
    free(r->mappings);
    checks_fini(&r->missing);
    free(r->nearest);
    *r = (struct inspect_report){0};
}

bool inspect_updates(const struct inspect_backend *b)
{
    return b->runtime.readable && (!b->daemon.used || b->daemon.runtime_updates);
}

enum inspect_verdict inspect_verdict(const struct inspect_backend *b)
{
    static const enum inspect_verdict of_plan[] = {
        [PLAN_WAIT] = INSPECT_WAITING,
        [PLAN_IN_SYNC] = INSPECT_IN_SYNC,
        [PLAN_WRITE] = INSPECT_CHANGES,
        [PLAN_RELOAD_AGAIN] = INSPECT_RELOAD_AGAIN,
        [PLAN_NO_ENDPOINT] = INSPECT_NO_ENDPOINT,
        [PLAN_LOSS_LIMIT] = INSPECT_LOSS_LIMIT,
        [PLAN_NOT_WRITTEN] = INSPECT_NOT_WRITTEN,
        [PLAN_REFUSE] = INSPECT_REFUSED,
    };
    if (!b->seen)
        return INSPECT_UNKNOWN;
    bool only_commanded = b->plan.verdict == PLAN_IN_SYNC && b->choice.command_count > 0;
    return only_commanded ? INSPECT_CHANGES : of_plan[b->plan.verdict];
}

static const struct {
    const char *word;
    int status;
} verdicts[] = {
    [INSPECT_IN_SYNC] = {"in_sync", EXIT_SUCCESS},
    [INSPECT_CHANGES] = {"changes", INSPECT_EXIT_CHANGES},
    [INSPECT_RELOAD_AGAIN] = {"reload_again", INSPECT_EXIT_CHANGES},
    [INSPECT_NO_ENDPOINT] = {"no_endpoint", INSPECT_EXIT_CHANGES},
    [INSPECT_LOSS_LIMIT] = {"loss_limit", INSPECT_EXIT_CHANGES},
    [INSPECT_NOT_WRITTEN] = {"not_written", INSPECT_EXIT_CHANGES},
    [INSPECT_REFUSED] = {"refused", INSPECT_EXIT_UNKNOWN},
    [INSPECT_WAITING] = {"waiting", INSPECT_EXIT_UNKNOWN},
    [INSPECT_UNKNOWN] = {"unknown", INSPECT_EXIT_UNKNOWN},
};

const char *inspect_verdict_word(enum inspect_verdict v)
{
    return verdicts[v].word;
}

static int worse(int a, int b)
{
    if (a == INSPECT_EXIT_UNKNOWN || b == INSPECT_EXIT_UNKNOWN)
        return INSPECT_EXIT_UNKNOWN;
    return a != EXIT_SUCCESS ? a : b;
}

int inspect_target_status(const struct inspect_report *r, const struct inspect_target *t)
{
    int worst = EXIT_SUCCESS;
    for (size_t m = 0; m < r->mapping_count; m++)
        worst = worse(worst, verdicts[inspect_verdict(&t->backends[m])].status);
    return worst;
}

int inspect_plan_status(const struct inspect_report *r)
{
    int worst = r->incomplete ? INSPECT_EXIT_UNKNOWN : EXIT_SUCCESS;
    for (size_t t = 0; t < r->target_count; t++)
        worst = worse(worst, inspect_target_status(r, &r->targets[t]));
    return worst;
}

int inspect_explain_status(const struct inspect_report *r)
{
    for (size_t m = 0; m < r->mapping_count; m++)
        if (r->mappings[m].node_known)
            return EXIT_SUCCESS;
    return INSPECT_EXIT_UNKNOWN;
}
