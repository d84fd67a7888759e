#include "model/address.h"

#include "../test.h"

TEST(canonical)
{
    static const struct {
        const char *in, *out; /* NULL: no address */
    } cases[] = {
        {"10.0.0.1", "10.0.0.1"},
        {"FD00:0::1", "fd00::1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"::FFFF:10.0.0.1", "::ffff:10.0.0.1"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"", NULL},
        {"10.0.0", NULL},
        {"10.0.0.256", NULL},
        {"010.0.0.1", NULL},
        {"10.0.0.1 ", NULL},
        {"[fd00::1]", NULL},
        {"fe80::1%eth0", NULL},
        {"db.example", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        char out[ADDRESS_TEXT_BYTES] = "untouched";
        ck_assert_int_eq(address_canonical(cases[i].in, out), cases[i].out != NULL ? 0 : -1);
        ck_assert_str_eq(out, cases[i].out != NULL ? cases[i].out : "untouched");
    }
}

TEST(equality)
{
    static const struct {
        const char *a, *b;
        bool eq;
    } cases[] = {
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"fd00::1", "FD00:0::1", true},
        {"fd00::1", "fd00::2", false},
        {"10.0.0.1", "::ffff:10.0.0.1", false}, /* HAProxy would use another kind of socket */
        {"db.example", "db.example", true},
        {"db.example", "DB.example", false},
        {"a:b", "a:b", true},
        {"a:b", "a:c", false},
        {NULL, NULL, true},
        {NULL, "fd00::1", false},
        {"fd00::1", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < array_len(cases); i++)
        ck_assert_msg(address_eq(cases[i].a, cases[i].b) == cases[i].eq, "case %zu", i);
}
