#include "daemon/systemd_status.h"

#include "base/clock.h"
#include "base/mem.h"
#include "host/systemd.h"
#include "report/status_line.h"

void supervisor_tell(struct notify *n, bool stopping, bool (*ready)(void *arg, struct buf *body), void *arg)
{
    cleanup(buf_fini) struct buf page;
    buf_init(&page, 0);
    if (n == NULL)
        return;
    bool ok = ready(arg, &page);
    cleanup(mem_free_ptr) char *line = status_line(ok, buf_str(&page));
    if (stopping)
        notify_tell(n, NOTIFY_STOPPING, "stopping, HAProxy stays as it is", clock_mono_ms());
    else
        notify_tell(n, NOTIFY_READY, line, clock_mono_ms());
}
