/* A log in memory, and how often it says what. */
#pragma once

#include "base/log.h"
#include "log_text.h"

#include <sys/mman.h>

static struct log log_to_file = {.level = LOG_LEVEL_DEBUG, .format = LOG_FORMAT_LOGFMT};

static inline void log_begin(void)
{
    log_to_file.fd = memfd_create("log", MFD_CLOEXEC);
}

static inline void log_end(void)
{
    close(log_to_file.fd);
}

#define times_logged(what) log_count(log_to_file.fd, what)
