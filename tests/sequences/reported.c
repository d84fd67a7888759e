/* What is told of it: readiness, /status and gauges, against the model. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "world.h"

#define LOOK_US 45000000 /* after which a look has seen what somebody else did */

static uint64_t moved_us(const struct api *a)
{
    return a->touched_us > a->troubled_us ? a->touched_us : a->troubled_us;
}

/* Its line begins with "[+]". */
static bool says_ready(const struct api *a, size_t backend, const struct buf *readiness)
{
    cleanup(mem_free_ptr) char *line = mem_printf("[+]target %s backend %s:", a->url, conf_backends[backend]);
    return strstr(buf_str(readiness), line) != NULL;
}

/* Nothing is written to such a file (check_written), and that is no state to be content with. */
void check_refused(struct api *a)
{
    struct world *w = a->world;
    enum oddity oddity = a->memory.oddity;
    if (oddity == ODDITY_NONE || oddity == ODDITY_FRAGILE || a->on_disk.oddity != oddity ||
        w->now_us < moved_us(a) + LOOK_US)
        return;
    cleanup(buf_fini) struct buf readiness;
    buf_init(&readiness, 0);
    (void)targets_ready(w->targets, &readiness);
    for (size_t b = 0; b < OURS; b++)
        if (says_ready(a, b, &readiness))
            violate(w, "refused", "%s: a write would change what its file means, and readiness says:\n%s", a->url,
                    buf_str(&readiness));
}
