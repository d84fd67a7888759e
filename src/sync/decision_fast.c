#include "dataplane/lane.h"
#include "sync/decision.h"

void decision_log_fast(const struct log *log, const char *target, const char *backend, const struct diff_change *c,
                       const char *cause, const struct lane *l, uint64_t event_us)
{
    log_info(log, "server changed without a reload", log_str("backend", backend), log_str("target", target),
             log_str("server", c->server.name), log_str("what", c->detail), log_str("why", c->reason),
             log_str("cause", cause), log_int("version", l->version),
             log_if(event_us != 0, log_us_as_ms("event_to_commit_ms", event_us)), log_us_as_ms("write_ms", l->write_us),
             log_us_as_ms("read_back_ms", l->read_us));
}
