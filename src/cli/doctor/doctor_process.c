#include "cli/doctor/doctor_process.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define STAT_MAX_BYTES 4096

/* "77 (haproxy) S 76 ..." (proc(5)): name and parent. What is in the text is cut. */
static bool process_parse_stat(char *text, const char **ret_name, uint64_t *ret_parent)
{
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open || strlen(close) < sizeof(") S 1") - 1)
        return false;
    char *parent = close + sizeof(") S ") - 1;
    *close = '\0';
    parent[strcspn(parent, " \n")] = '\0';
    *ret_name = open + 1;
    return str_parse_uint(parent, INT32_MAX, ret_parent) == 0;
}

/* "haproxy", or with its version behind: "haproxy-v3.4.0"; not "haproxy-k8s-sync", "haproxy_exporter". */
static bool process_is_named_haproxy(const char *name)
{
    if (!str_has_prefix(name, "haproxy"))
        return false;
    const char *rest = name + strlen("haproxy");
    const char *version = rest + strspn(rest, "-_v");
    return *rest == '\0' || (*version >= '0' && *version <= '9');
}

bool doctor_is_haproxy(uint64_t pid, uint64_t *ret_parent)
{
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%" PRIu64 "/stat", pid);
    const char *name = "";
    cleanup(buf_fini) struct buf text;
    buf_init(&text, STAT_MAX_BYTES);
    return buf_read_file(&text, path) == 0 && text.len > 0 && process_parse_stat(text.data, &name, ret_parent) &&
           process_is_named_haproxy(name);
}
