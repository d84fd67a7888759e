#include "cli/doctor/doctor_clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "cli/doctor/doctor_report.h"

#define WARN_MS 2000
#define FAIL_MS 30000

/* IMF-fixdate of RFC 9110 5.6.7, which is what servers send. */
static bool parse_date(const char *text, int64_t *ret_s)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (end == NULL || *end != '\0')
        return false;
    *ret_s = (int64_t)timegm(&tm);
    return true;
}

struct doctor_skew doctor_skew_of(const char *date, uint64_t now_ms, uint64_t took_us)
{
    struct doctor_skew k = {0};
    int64_t theirs_s;
    if (date == NULL || !parse_date(date, &theirs_s))
        return k;
    /* The server wrote it between request and answer, at some time in the second that it names. */
    k.known = true;
    k.least_ms = (int64_t)now_ms - (int64_t)(took_us / 1000) - 1 - (theirs_s * 1000 + 1000);
    k.most_ms = (int64_t)now_ms - theirs_s * 1000;
    return k;
}

int64_t doctor_skew_ms(const struct doctor_skew *k)
{
    return k->least_ms > 0 ? k->least_ms : k->most_ms < 0 ? k->most_ms : 0;
}

void doctor_clock_report_skew(const char *id, const char *label, const char *whose, const struct doctor_skew *k,
                              struct doctor_section *s)
{
    int64_t skew = k->known ? doctor_skew_ms(k) : 0;
    if (!k->known) {
        doctor_skip(s, id, label, "no answer from %s has a Date header", whose);
        return;
    }
    if (llabs(skew) <= WARN_MS) {
        doctor_ok(s, id, label, "the clock of %s is within %d s of this machine's", whose, WARN_MS / 1000);
        return;
    }
    struct doctor_check *c = doctor_add(s, llabs(skew) > FAIL_MS ? CHECK_FAIL : CHECK_WARN, id, label,
                                        "this machine's clock is %lld s or more %s that of %s",
                                        llabs((long long)skew) / 1000, skew > 0 ? "ahead of" : "behind", whose);
    doctor_why(c, "one side may reject certificates and tokens that are new or about to expire, and the times in their "
                  "logs differ; leader election does not depend on it");
    doctor_fix(c, "correct the clock that is wrong", "date -u; timedatectl set-ntp true");
}

enum doctor_synchronised doctor_clock_synchronised(void)
{
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    if (state < 0)
        return DOCTOR_SYNC_UNKNOWN;
    return state == TIME_ERROR || (t.status & STA_UNSYNC) != 0 ? DOCTOR_SYNC_NO : DOCTOR_SYNC_YES;
}

void doctor_clock_report_kernel(enum doctor_synchronised is, struct doctor_section *s)
{
    static const char id[] = "clock.synchronised", label[] = "this machine";
    if (is == DOCTOR_SYNC_YES) {
        doctor_ok(s, id, label, "synchronised with a time server");
    } else if (is == DOCTOR_SYNC_UNKNOWN) {
        doctor_skip(s, id, label, "the kernel does not say whether the clock is synchronised");
    } else {
        struct doctor_check *c = doctor_warn(s, id, label, "not synchronised with a time server");
        doctor_why(c, "the clock drifts, and certificates and tokens are checked against it");
        doctor_fix(c, "on this machine (in a pod: on its node)", "timedatectl set-ntp true");
    }
}
