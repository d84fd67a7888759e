/* How many Secrets the Services of one namespace may have watched: those that exist, and some of those that do not. */

#include "daemon/services/service_secrets.h"

#include "../../test.h"

static enum secret_admission admit(struct secrets_budget *b, enum secret_found found, unsigned times)
{
    enum secret_admission last = SECRET_WATCHED;
    for (unsigned i = 0; i < times; i++)
        last = secrets_admit(b, found);
    return last;
}

TEST(missing_ones_take_nothing_from_those_that_exist)
{
    struct secrets_budget b = {0};
    ck_assert_int_eq(admit(&b, SECRET_MISSING, SERVICE_SECRETS_MISSING_MAX), SECRET_WATCHED);
    ck_assert_int_eq(admit(&b, SECRET_MISSING, 1), SECRET_ASKED_LATER);
    ck_assert_int_eq(admit(&b, SECRET_THERE, SERVICE_SECRETS_MAX), SECRET_WATCHED);
    ck_assert_int_eq(admit(&b, SECRET_THERE, 1), SECRET_TOO_MANY);
    ck_assert_int_eq(admit(&b, SECRET_UNKNOWN, 1), SECRET_TOO_MANY);
}

TEST(as_many_are_asked_at_once_as_may_exist)
{
    struct secrets_budget b = {0};
    ck_assert_int_eq(admit(&b, SECRET_THERE, 1), SECRET_WATCHED);
    ck_assert_int_eq(admit(&b, SECRET_UNKNOWN, SERVICE_SECRETS_MAX - 1), SECRET_WATCHED);
    ck_assert_int_eq(admit(&b, SECRET_UNKNOWN, 1), SECRET_ASKED_LATER);
    ck_assert_int_eq(admit(&b, SECRET_THERE, SERVICE_SECRETS_MAX - 1), SECRET_WATCHED);
}
