/* What /readyz says, as the one line that a supervisor shows of us (systemctl status). Pure. */
#ifndef REPORT_STATUS_LINE_H
#define REPORT_STATUS_LINE_H

#include <stdbool.h>

#include "base/compiler.h"

#define STATUS_LINE_MAX_BYTES 512

/* "ready", or "not ready: ", the first line of the page that begins with [-], and how many more of them there are. page: lines
 * as /readyz has them. What cannot be shown on a terminal is escaped, what is too long is cut. Allocates. */
char *status_line(bool ready, const char *page) must_check;

#endif
