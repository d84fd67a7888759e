/* src/haproxy/dataplane/codec_reloads: which of several reloads was the last, whatever their order. */
#include "haproxy/dataplane/codec.h"

#include "../test.h"

#define OK(at) "{\"id\":\"x\",\"reload_timestamp\":" at ",\"status\":\"succeeded\",\"response\":\"good\"}"
#define BAD(at) "{\"id\":\"x\",\"reload_timestamp\":" at ",\"status\":\"failed\",\"response\":\"bad\"}"
#define SOON "{\"status\":\"in_progress\"}"

static const struct {
    const char *json;
    int status;
    bool pending, last_failed;
    const char *response;
} rows[] = {
    {"[]", 0, false, false, NULL},
    {"null", 0, false, false, NULL},
    {"[" OK("5") "]", 0, false, false, "good"},
    {"[" BAD("5") "]", 0, false, true, "bad"},
    {"[" BAD("5") "," OK("6") "]", 0, false, false, "good"},
    {"[" OK("6") "," BAD("5") "]", 0, false, false, "good"},
    {"[" OK("5") "," BAD("6") "]", 0, false, true, "bad"},
    {"[" OK("6") "," BAD("6") "]", 0, false, true, "bad"},
    {"[" BAD("6") "," OK("6") "]", 0, false, true, "bad"},
    {"[" BAD("6") "," SOON "]", 0, true, true, "bad"},
    {"[" SOON "]", 0, true, false, NULL},
    {"[{\"id\":\"x\",\"status\":\"failed\"}]", 0, false, true, ""},
    {"{}", -1, false, false, NULL},
    {"[1]", -1, false, false, NULL},
    {"[{\"id\":\"x\"}]", -1, false, false, NULL},
    {"[" OK("5") ",{\"status\":7}]", -1, false, false, NULL},
    {"[" OK("\"soon\"") "]", -1, false, false, NULL},
    {"<html>", -1, false, false, NULL},
};

TEST_EACH(last_of_several, array_len(rows))
{
    cleanup(reload_history_fini) struct reload_history h = {0};
    ck_assert_msg(codec_read_reloads(rows[_i].json, strlen(rows[_i].json), &h, &flaw) == rows[_i].status, "%s: %s",
                  rows[_i].json, flaw.message);
    ck_assert_msg(h.pending == rows[_i].pending && h.last_failed == rows[_i].last_failed, "%s", rows[_i].json);
    ck_assert_msg(str_eq(h.response, rows[_i].response), "%s", rows[_i].json);
    if (rows[_i].status != 0)
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
}
