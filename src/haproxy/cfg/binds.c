#include "haproxy/cfg/binds.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"

#define ALL "*"

void cfg_binds_fini(struct cfg_binds *b)
{
    free(b->list);
    *b = (struct cfg_binds){0};
}

static bool is_all(const char *address)
{
    return str_empty(address) || str_eq(address, ALL) || str_eq(address, "0.0.0.0") || str_eq(address, "::");
}

/* "443", "8000-8999" */
static int parse_ports(const char *text, struct cfg_bind *ret)
{
    uint64_t from, to;
    const char *dash = strchr(text, '-');
    cleanup(mem_free_ptr) char *first = dash != NULL ? mem_strndup(text, (size_t)(dash - text)) : mem_strdup(text);
    if (str_parse_uint(first, UINT16_MAX, &from) != 0 ||
        str_parse_uint(dash != NULL ? dash + 1 : text, UINT16_MAX, &to) != 0)
        return -1;
    ret->from = (uint16_t)from;
    ret->to = (uint16_t)to;
    return 0;
}

/* The address in front of the last colon, an IPv6 one with or without brackets. */
static int parse_address(char *text, struct cfg_bind *ret)
{
    size_t len = strlen(text);
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        text[len - 1] = '\0';
        text++;
    }
    if (!is_all(text))
        return address_canonical(text, ret->address);
    ret->address[0] = '*';
    return 0;
}

/* Behind what says the family or the protocol; NULL: it is no address of TCP. */
static char *behind_family(char *text, bool *ret_six)
{
    static const char *const families[] = {"ipv4", "ipv6", "tcp", "tcp4", "tcp6", "mptcp", "mptcp4", "mptcp6"};
    char *at = strchr(text, '@');
    *ret_six = at != NULL && at > text && at[-1] == '6';
    if (at == NULL)
        return text;
    *at = '\0';
    return cfg_is_among(text, families, array_len(families)) ? at + 1 : NULL;
}

static void add_address(struct cfg_binds *b, char *text, const struct cfg_bind *of)
{
    struct cfg_bind new = *of;
    char *address = behind_family(text, &new.six), *colon = address != NULL ? strrchr(address, ':') : NULL;
    if (colon == NULL || parse_ports(colon + 1, &new) != 0)
        return;
    *colon = '\0';
    new.six = new.six || strchr(address, ':') != NULL;
    if (parse_address(address, &new) != 0)
        return;
    bool alone = str_eq(new.address, ALL) && of->v6only;
    if (alone && new.six) /* IPv4 is not its matter */
        memcpy(new.address, "::", sizeof("::"));
    b->list = mem_one_more(b->list, b->count, sizeof(b->list[0]));
    b->list[b->count++] = new;
}

void cfg_binds_read(struct cfg_binds *b, const char *text, size_t len)
{
    static const char *const elsewhere[] = {"namespace", "interface", "transparent"};
    struct cfg_file file;
    struct cfg_line line;
    cfg_file_parse(&file, text, len);
    cfg_line_init(&line);
    for (size_t i = 0; i < file.line_count; i++) {
        cfg_line_split(&line, file.lines[i].text, file.lines[i].len);
        if (!str_eq(cfg_word(&line, 0), "bind"))
            continue;
        struct cfg_bind of = {.line = file.lines[i].number};
        for (size_t k = 2; k < line.count; k++) {
            of.v6only = of.v6only || str_eq(cfg_word(&line, k), "v6only");
            of.v4v6 = of.v4v6 || str_eq(cfg_word(&line, k), "v4v6");
            of.elsewhere = of.elsewhere || cfg_is_among(cfg_word(&line, k), elsewhere, array_len(elsewhere));
        }
        cleanup(mem_free_ptr) char *addresses = mem_strdup(cfg_word(&line, 1));
        char *rest = addresses;
        for (char *one; (one = strsep(&rest, ",")) != NULL;)
            add_address(b, one, &of);
    }
    cfg_line_fini(&line);
    cfg_file_fini(&file);
}

const struct cfg_bind *cfg_binds_find(const struct cfg_binds *b, const char *address, uint16_t port)
{
    char wanted[ADDRESS_TEXT_BYTES];
    bool six = str_eq(address, "::"), all = is_all(address) || address_canonical(address, wanted) != 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct cfg_bind *one = &b->list[i];
        bool same =
            all ? str_eq(one->address, ALL) || (six && str_eq(one->address, "::")) : str_eq(one->address, wanted);
        if (same && one->from <= port && port <= one->to)
            return one;
    }
    return NULL;
}
