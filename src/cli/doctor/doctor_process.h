/* A process of this machine, as far as /proc shows it. */
#ifndef CLI_DOCTOR_DOCTOR_PROCESS_H
#define CLI_DOCTOR_DOCTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether that process is a HAProxy, and its parent. False also where /proc cannot be read. */
bool doctor_is_haproxy(uint64_t pid, uint64_t *ret_parent);

#endif
