/* What a desired state says of servers that are not lost any more, for the loss limit. Pure. */
#ifndef SERVERS_CHANGE_LOSS_NOTICE_H
#define SERVERS_CHANGE_LOSS_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

struct desired;

struct loss_notice {
    const struct desired *desired;
    const char **announced; /* ordered */
    size_t count;
};

void loss_notice_init(struct loss_notice *n, const struct desired *desired); /* which is borrowed */
void loss_notice_fini(struct loss_notice *n);
/* Its end was announced. */
bool loss_notice_announced(const struct loss_notice *n, const char *server);
/* notice: a struct loss_notice. It is desired, or was announced (`returned` of struct loss_limit_report). */
bool loss_notice_returned(const void *notice, const char *server);

#endif
