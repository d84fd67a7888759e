#include "settings/names.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/selector.h"

#define LABEL_MAX 63 /* RFC 1123, and so Kubernetes */
#define SUBDOMAIN_MAX 253
#define BACKEND_MAX 255
#define SPIFFE_SCHEME "spiffe://"
#define SPIFFE_DOMAIN_MAX_BYTES 255

bool name_made_of(const char *s, const char *characters)
{
    return s[0] != '\0' && s[strspn(s, characters)] == '\0';
}

bool name_is_short_number(const char *s)
{
    return name_made_of(s, NAME_DIGITS) && strlen(s) <= 8;
}

/* Of lower-case letters, digits and `others`, which neither begin nor end it; any_case: the same with capitals. */
static int check_dns_name(const char *s, size_t max, const char *any_case, const char *others, struct buf *note)
{
    size_t len = strlen(s);
    if (len > max) {
        buf_printf(note, "it has %zu characters", len);
        return -1;
    }
    bool made_of = name_made_of(s, any_case);
    if (made_of && strpbrk(s, NAME_UPPER) != NULL) {
        buf_add(note, "names in Kubernetes have no upper-case letters");
        return -1;
    }
    return made_of && strchr(others, s[0]) == NULL && strchr(others, s[len - 1]) == NULL ? 0 : -1;
}

/* A DNS label as RFC 1123 has it. Names of Services had to begin with a letter (RFC 1035) until Kubernetes 1.34 began
 * to relax that, so a digit is let through: the API knows best. */
int name_check_label(const char *s, struct buf *note)
{
    return check_dns_name(s, LABEL_MAX, NAME_ALNUM "-", "-", note);
}

int name_check_subdomain(const char *s, struct buf *note)
{
    if (check_dns_name(s, SUBDOMAIN_MAX, NAME_ALNUM "-.", "-.", note) != 0)
        return -1;
    return strstr(s, "..") == NULL && strstr(s, ".-") == NULL && strstr(s, "-.") == NULL ? 0 : -1;
}

int name_check_port(const char *s, struct buf *note)
{
    uint64_t number;
    if (!name_made_of(s, NAME_DIGITS))
        return name_check_label(s, note);
    if (str_parse_uint(s, UINT16_MAX, &number) == 0 && number > 0)
        return 0;
    buf_add(note, "as a number it is from 1 to 65535");
    return -1;
}

int name_check_backend(const char *s, struct buf *note)
{
    if (strlen(s) > BACKEND_MAX) {
        buf_printf(note, "it has %zu characters", strlen(s));
        return -1;
    }
    return name_made_of(s, NAME_ALNUM "-_.:") ? 0 : -1;
}

int name_check_label_key(const char *s, struct buf *note)
{
    struct selector_fault fault;
    cleanup(mem_free_ptr) char *selector = mem_printf("!%s", s);
    if (strpbrk(s, ",=!() \t") == NULL && selector_check(selector, &fault) == 0)
        return 0;
    buf_add(note, "as a label's key");
    return -1;
}

/* ---- SPIFFE IDs ---- */

static bool spiffe_id_all_of(const char *s, size_t len, const char *set)
{
    return strspn(s, set) >= len;
}

size_t spiffe_id_domain_len(const char *id)
{
    size_t scheme = str_has_prefix(id, SPIFFE_SCHEME) ? strlen(SPIFFE_SCHEME) : 0;
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
    if (!str_has_prefix(id, SPIFFE_SCHEME))
        return "it does not begin with spiffe://";
    if (strlen(id) > SPIFFE_ID_MAX_BYTES)
        return "it has more than 2048 bytes";
    const char *domain = id + strlen(SPIFFE_SCHEME);
    size_t len = spiffe_id_domain_len(id) - strlen(SPIFFE_SCHEME);
    if (len == 0 || len > SPIFFE_DOMAIN_MAX_BYTES || !spiffe_id_all_of(domain, len, NAME_LOWER NAME_DIGITS "-._"))
        return "its trust domain is not 1 to 255 lower-case letters, digits, '-', '.' and '_'";
    return path_problem(domain + len);
}
