#include "settings/spiffe_id.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "settings/names.h"

#define SCHEME "spiffe://"
#define DOMAIN_MAX_BYTES 255

static bool spiffe_id_all_of(const char *s, size_t len, const char *set)
{
    return strspn(s, set) >= len;
}

size_t spiffe_id_domain_len(const char *id)
{
    size_t scheme = str_has_prefix(id, SCHEME) ? strlen(SCHEME) : 0;
    return scheme + strcspn(id + scheme, "/");
}

static const char *path_problem(const char *path)
{
    while (*path == '/') {
        const char *segment = ++path;
        size_t len = strcspn(segment, "/");
        path += len;
        if (len == 0)
            return "its path has an empty segment, or ends with '/'";
        if ((len == 1 && segment[0] == '.') || (len == 2 && segment[0] == '.' && segment[1] == '.'))
            return "its path has a segment . or ..";
        if (!spiffe_id_all_of(segment, len, NAME_ALNUM "-._"))
            return "its path has characters other than letters, digits, '-', '.' and '_'";
    }
    return NULL;
}

const char *spiffe_id_problem(const char *id)
{
    if (!str_has_prefix(id, SCHEME))
        return "it does not begin with spiffe://";
    if (strlen(id) > SPIFFE_ID_MAX_BYTES)
        return "it has more than 2048 bytes";
    const char *domain = id + strlen(SCHEME);
    size_t len = spiffe_id_domain_len(id) - strlen(SCHEME);
    if (len == 0 || len > DOMAIN_MAX_BYTES || !spiffe_id_all_of(domain, len, NAME_LOWER NAME_DIGITS "-._"))
        return "its trust domain is not 1 to 255 lower-case letters, digits, '-', '.' and '_'";
    return path_problem(domain + len);
}
