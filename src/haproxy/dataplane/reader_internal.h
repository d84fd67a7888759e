/* The inside of haproxy/dataplane/reader, for its own files: reader.c (the configuration), reader_running.c (what runs). */
#ifndef HAPROXY_DATAPLANE_READER_INTERNAL_H
#define HAPROXY_DATAPLANE_READER_INTERNAL_H

#include "base/error.h"
#include "haproxy/dataplane/reader.h"

#define READER_MAX_RESTARTS 5

/* reader.c: what runs stays as it was read. */
void reader_begin_configuration(struct reader *o);
void reader_forget_known(struct reader *o);
void reader_finish(struct reader *o, const struct error *err);

/* reader_running.c: the configuration is read. */
void reader_read_running(struct reader *o);
void reader_cancel_running(struct reader *o);
void reader_running_fini(struct reader *o);

#endif
