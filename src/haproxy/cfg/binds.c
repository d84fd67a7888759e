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

/* One address of a bind line, "ipv6@[::]:8000-8999"; `of`: what the line says of all. */
static void add_address(struct cfg_binds *b, char *text, const struct cfg_bind *of)
{
    static const char *const families[] = {"ipv4", "ipv6", "tcp", "tcp4", "tcp6", "mptcp", "mptcp4", "mptcp6"};
    struct cfg_bind new = *of;
    uint64_t from, to;
    char *address = text, *at = strchr(text, '@');
    if (at != NULL) {
        new.six = at > text &&at[-1] == '6';
        *at = '\0';
        address = at + 1;
        if (!cfg_is_among(text, families, array_len(families)))
            return; /* it is no address of TCP */
    }
    char *colon = strrchr(address, ':'), *dash = colon != NULL ? strchr(colon, '-') : NULL;
    if (colon == NULL || str_parse_uint(dash != NULL ? dash + 1 : colon + 1, UINT16_MAX, &to) != 0)
        return;
    if (dash != NULL)
        *dash = '\0';
    if (str_parse_uint(colon + 1, UINT16_MAX, &from) != 0)
        return;
    new.from = (uint16_t)from;
    new.to = (uint16_t)to;
    *colon = '\0';
    new.six = new.six || strchr(address, ':') != NULL;
    size_t len = strlen(address); /* an IPv6 one stands there with or without brackets */
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address[len - 1] = '\0';
        address++;
    }
    if (is_all(address) && of->v6only && new.six) /* IPv4 is not its matter */
        memcpy(new.address, "::", sizeof("::"));
    else if (is_all(address))
        memcpy(new.address, ALL, sizeof(ALL));
    else if (address_canonical(address, new.address) != 0)
        return;
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
