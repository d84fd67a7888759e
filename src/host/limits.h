/*
 * What a copy of this process that computes something (child_options.run) may take of the machine, by the kernel's limits, and that it
 * ends with its parent. To be called in the child, before its filter of system calls.
 */
#ifndef HOST_LIMITS_H
#define HOST_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Processor time; bytes of memory besides what it has now, 0: any. No dump, no other file than the three it has. */
void limits_set(uint64_t cpu_s, size_t more_bytes);

#endif
