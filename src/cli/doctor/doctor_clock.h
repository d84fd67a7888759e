/*
 * Clocks: how far this machine's is from a server's, by the answers' Date header (whole seconds), and whether this
 * machine's is synchronised with a time server.
 */
#ifndef CLI_DOCTOR_DOCTOR_CLOCK_H
#define CLI_DOCTOR_DOCTOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct doctor_section;

/* This machine's clock less the server's lies between these. */
struct doctor_skew {
    bool known;
    int64_t least_ms, most_ms;
};

/* date: the header, NULL: none. now_ms: this machine's clock when the answer came; took_us: how long that took. */
struct doctor_skew doctor_skew_of(const char *date, uint64_t now_ms, uint64_t took_us);
/* How far this machine's clock is ahead at least (behind: negative); 0: it may be right. */
int64_t doctor_skew_ms(const struct doctor_skew *k);

/* whose: for the text, a URL. */
void doctor_clock_report_skew(const char *id, const char *label, const char *whose, const struct doctor_skew *k,
                              struct doctor_section *s);

enum doctor_synchronised { DOCTOR_SYNC_UNKNOWN, DOCTOR_SYNC_YES, DOCTOR_SYNC_NO };
/* What the kernel says (adjtimex(2)). */
enum doctor_synchronised doctor_clock_synchronised(void);
void doctor_clock_report_kernel(enum doctor_synchronised is, struct doctor_section *s);

#endif
