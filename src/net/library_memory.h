/*
 * libcurl and OpenSSL copy what they are given (user name and password, header lines, keys) and free it as it is. Both
 * let their user choose how they allocate: what they free, or move when it grows, is overwritten first.
 */
#ifndef NET_LIBRARY_MEMORY_H
#define NET_LIBRARY_MEMORY_H

#include "base/error.h"

/* For the whole process, once, before anything else is asked of either library. ERROR_FATAL. */
int library_memory_wipe(struct error *err) must_check;

#endif
