/* src/cli/running_daemon: where it answers. */
#include "cli/running_daemon.h"
#include "settings/settings.h"

#include "../test.h"

static const struct {
    const char *host, *url;
} places[] = {{"", "http://127.0.0.1:8080"},        {"0.0.0.0", "http://127.0.0.1:8080"}, {"::", "http://[::1]:8080"},
              {"10.0.0.9", "http://10.0.0.9:8080"}, {"fd00::9", "http://[fd00::9]:8080"}, {NULL, NULL}};

TEST_EACH(where_it_is, array_len(places))
{
    cleanup(mem_free_ptr) char *host = mem_strdup(places[_i].host);
    const struct settings settings = {.listen = {.host = host, .port = 8080}};
    cleanup(mem_free_ptr) char *url = running_daemon_url(&settings);
    ck_assert_msg(str_eq(url, places[_i].url), "%s", url);
}
