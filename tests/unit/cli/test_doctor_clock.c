/* cli/doctor/doctor_connection: how far two clocks are apart, as far as a Date header can show. */
#include "cli/doctor/doctor_connection.h"

#include "doctor_text.h"

#define DATE "Sun, 22 Nov 2026 00:01:47 GMT"
#define AT_MS UINT64_C(1795305707000)

static const struct {
    const char *date;
    int64_t ours_ms; /* our clock when the answer was there, less AT_MS */
    uint64_t took_ms;
    int64_t skew_ms;
    enum check_state mark;
    const char *says;
} rows[] = {
    {DATE, 0, 0, 0, CHECK_OK, "the clock of X is within 2 s of this machine's"},
    {DATE, 500, 0, 0, CHECK_OK, ""},
    {DATE, 999, 10, 0, CHECK_OK, ""},
    {DATE, 1500, 600, 0, CHECK_OK, ""}, /* the answer took long: it may have been written at our own time */
    {DATE, 3000, 0, 1999, CHECK_OK, ""},
    {DATE, 4500, 0, 3499, CHECK_WARN, "clock is 3 s or more ahead of that of X"},
    {DATE, 4500, 3600, 0, CHECK_OK, ""},
    {DATE, -2000, 0, -2000, CHECK_OK, ""},
    {DATE, -2001, 0, -2001, CHECK_WARN, "clock is 2 s or more behind that of X"},
    {DATE, 31001, 0, 30000, CHECK_WARN, ""},
    {DATE, 31002, 0, 30001, CHECK_FAIL, ""},
    {DATE, -3600000, 0, -3600000, CHECK_FAIL, "clock is 3600 s or more behind that of X"},
    {NULL, 0, 0, 0, CHECK_SKIP, "no answer from X has a Date header"},
    {"", 0, 0, 0, CHECK_SKIP, ""},
    {"yesterday", 0, 0, 0, CHECK_SKIP, ""},
    {DATE " or so", 0, 0, 0, CHECK_SKIP, ""},
    {"2026-11-22T00:01:47Z", 0, 0, 0, CHECK_SKIP, ""},
};

TEST_EACH(skew, array_len(rows))
{
    cleanup(doctored_fini) struct doctored d = doctored_new();
    uint64_t now = (uint64_t)((int64_t)AT_MS + rows[_i].ours_ms);
    struct doctor_skew k = doctor_skew_of(rows[_i].date, now, rows[_i].took_ms * 1000);
    doctor_clock_report_skew("clock.kubernetes", "Kubernetes", "X", &k, d.section);
    ck_assert(k.known == (rows[_i].mark != CHECK_SKIP));
    ck_assert_int_eq(k.known ? doctor_skew_ms(&k) : 0, rows[_i].skew_ms);
    expect_mark(&d, "clock.kubernetes", rows[_i].mark);
    expect_text(&d, rows[_i].says);
}

TEST(kernel)
{
    cleanup(doctored_fini) struct doctored d = doctored_new(), e = doctored_new(), f = doctored_new();
    doctor_clock_report_kernel(DOCTOR_SYNC_YES, d.section);
    doctor_clock_report_kernel(DOCTOR_SYNC_NO, e.section);
    doctor_clock_report_kernel(DOCTOR_SYNC_UNKNOWN, f.section);
    expect_mark(&d, "clock.synchronised", CHECK_OK);
    expect_mark(&e, "clock.synchronised", CHECK_WARN);
    expect_mark(&f, "clock.synchronised", CHECK_SKIP);
    expect_text(&e, "timedatectl set-ntp true");
}
