/* src/settings/show: where values come from, and those alone that are not the defaults. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/show.h"

#define USER "HAPROXY_DATAPLANE_USERNAME=u"
#define PASSWORD "HAPROXY_DATAPLANE_PASSWORD=hush"

static char *shown(const char *const *env, const struct settings_show *how)
{
    struct settings s;
    struct settings_findings found;
    struct buf out = {0};
    ck_assert_int_eq(settings_parse((char *const *)(uintptr_t)env, &s, &found), 0);
    settings_print_as(&s, how, &out);
    settings_fini(&s);
    settings_findings_fini(&found);
    return buf_take(&out);
}

START_TEST(what_differs_from_the_default)
{
    static const char *const env[] = {USER, PASSWORD, "PARK_TTL=1h", "DRAIN_TIMEOUT=31s", "LOG_LEVEL=info", NULL};
    const struct settings_show how = {.changed = true};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_str_eq(text, "HAPROXY_DATAPLANE_USERNAME=u  # from the environment\n"
                           "HAPROXY_DATAPLANE_PASSWORD=***  # from the environment\n"
                           "DRAIN_TIMEOUT=31s  # from the environment\n");
}
END_TEST

START_TEST(nothing_differs)
{
    static const char *const env[] = {"DRY_RUN=false", NULL};
    const struct settings_show how = {.changed = true};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_str_eq(text, "# all settings are at their defaults\n");
}
END_TEST

/* An operator's defaults are none of ours. */
START_TEST(beside_mode)
{
    static const char *const env[] = {"MODE=k8s", USER, PASSWORD, NULL};
    const struct settings_show how = {.changed = true};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_ptr_nonnull(strstr(text, "CONFIG_SECRET_NAME=haproxy-config  # default beside MODE\n"));
    ck_assert_ptr_null(strstr(text, "LOG_LEVEL"));
}
END_TEST

START_TEST(which_flag_it_was)
{
    static const char *const env[] = {"DRY_RUN=true", "LOG_LEVEL=debug", "MODE=k8s", USER, PASSWORD, NULL};
    static char dry[] = "--dry-run", verbose[] = "-v", mode[] = "--mode";
    const struct settings_flag flags[] = {{"DRY_RUN", dry}, {"LOG_LEVEL", verbose}, {"MODE", mode}};
    const struct settings_show how = {.flags = flags, .flag_count = array_len(flags)};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_ptr_nonnull(strstr(text, "\nDRY_RUN=true  # by --dry-run\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nLOG_LEVEL=debug  # by -v\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nCONFIG_SOURCE=secret  # by --mode\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nHAPROXY_DATAPLANE_USERNAME=u  # from the environment\n"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("show");
    tcase_add_test(tc, what_differs_from_the_default);
    tcase_add_test(tc, nothing_differs);
    tcase_add_test(tc, beside_mode);
    tcase_add_test(tc, which_flag_it_was);
    Suite *s = suite_create("show");
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
