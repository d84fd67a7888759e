/* src/settings/show: where values come from, and those alone that are not the defaults. */

#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/show.h"

#include "../test.h"

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

TEST(what_differs_from_the_default)
{
    static const char *const env[] = {USER, PASSWORD, "PARK_TTL=1h", "DRAIN_TIMEOUT=31s", "LOG_LEVEL=info", NULL};
    const struct settings_show how = {.changed = true};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_str_eq(text, "HAPROXY_DATAPLANE_USERNAME=u  # from the environment\n"
                           "HAPROXY_DATAPLANE_PASSWORD=***  # from the environment\n"
                           "DRAIN_TIMEOUT=31s  # from the environment\n");
}

TEST(nothing_differs)
{
    static const char *const env[] = {"DRY_RUN=false", NULL};
    const struct settings_show how = {.changed = true};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_str_eq(text, "# all settings are at their defaults\n");
}

/* An operator's defaults are none of ours. */
TEST(beside_mode)
{
    static const char *const env[] = {"MODE=k8s", USER, PASSWORD, NULL};
    const struct settings_show how = {.changed = true};
    cleanup(mem_free_ptr) char *text = shown(env, &how);
    ck_assert_ptr_nonnull(strstr(text, "CONFIG_SECRET_NAME=haproxy-config  # default with MODE\n"));
    ck_assert_ptr_null(strstr(text, "LOG_LEVEL"));
}

TEST(which_flag_it_was)
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
