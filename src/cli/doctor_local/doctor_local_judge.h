/* From what was seen of a HAProxy on this machine to the checks of its section. Pure. */
#ifndef CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_JUDGE_H
#define CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_JUDGE_H

#include <stdbool.h>

#include "cli/doctor_local/doctor_local_facts.h"

struct doctor_section;
struct inspect_target;
struct settings;

struct local_judged {
    const struct settings *settings;
    const struct local_facts *facts;
    const struct inspect_target *target; /* NULL: it was not read */
    int64_t now_s;
};

/* haproxy.cfg: can it be read, can it be replaced, does another daemon write it. */
void local_judge_file(const struct local_judged *in, struct doctor_section *s);
/* The program, and what it says of the file. */
void local_judge_program(const struct local_judged *in, struct doctor_section *s);
/* Who runs and answers, by which socket; how it is reloaded. */
void local_judge_running(const struct local_judged *in, struct doctor_section *s);
/* ---- parts ---- */

/* " -f haproxy.cfg -f dynamic.cfg": all that HAProxy reads, as it can be typed. Allocates. */
char *local_judged_files(const struct local_judged *in);

/* "2.6.12-1+deb12u4" of what `haproxy -v` prints, and its first two numbers. */
struct local_version {
    char text[CLI_VERSION_BYTES];
    unsigned major, minor;
};
bool local_version_read(const char *said, struct local_version *ret);
bool local_version_is_old(const struct local_version *v);

#endif
