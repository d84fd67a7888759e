/* src/haproxy/reload_confirm: whether the reading after a reload verifies it, a row for each answer and its boundary. */
#include "haproxy/reload_confirm.h"

#include "../test.h"

static const struct {
    struct reload_signs signs;
    enum reload_confirmation verdict;
} rows[] = {
    /* Nothing to compare: the API has the last word. */
    {{.reported = true}, RELOAD_ACCEPTED},
    {{.reported = true, .other = true, .differs = true}, RELOAD_ACCEPTED},
    {{.reported = false, .other = true, .started_since = true}, RELOAD_UNKNOWN},
    /* The API does not know how it ended. */
    {{.comparable = true, .other = true}, RELOAD_UNKNOWN},
    {{.comparable = true, .other = true, .started_since = true}, RELOAD_VERIFIED},
    {{.comparable = true, .other = true, .started_since = true, .differs = true}, RELOAD_NOT_RUN},
    {{.comparable = true, .tells_ends = true}, RELOAD_UNKNOWN},
    {{.comparable = true}, RELOAD_TOO_OLD},
    {{.comparable = true, .differs = true}, RELOAD_NOT_RUN},
    /* It says that it succeeded. */
    {{.comparable = true, .reported = true, .other = true}, RELOAD_VERIFIED},
    {{.comparable = true, .reported = true, .other = true, .differs = true}, RELOAD_OVERRULED},
    {{.comparable = true, .reported = true, .differs = true}, RELOAD_NOT_RUN},
    {{.comparable = true, .reported = true, .differs = true, .same_before = true}, RELOAD_NOT_RUN},
    {{.comparable = true, .reported = true}, RELOAD_TOO_OLD},
    {{.comparable = true, .reported = true, .same_before = true}, RELOAD_ACCEPTED_SAME},
};

TEST_EACH(verdicts, array_len(rows))
{
    ck_assert_int_eq(reload_confirm(&rows[_i].signs), rows[_i].verdict);
}
