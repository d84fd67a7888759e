#include "model/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/str.h"

_Static_assert(ADDRESS_TEXT_BYTES >= INET6_ADDRSTRLEN, "room for the longest IPv6 address");

int address_canonical(const char *s, char ret[ADDRESS_TEXT_BYTES])
{
    unsigned char raw[sizeof(struct in6_addr)];
    int family = s != NULL ? str_ip_family(s) : 0;
    if (family == 0 || inet_pton(family, s, raw) != 1)
        return -1;
    return inet_ntop(family, raw, ret, ADDRESS_TEXT_BYTES) != NULL ? 0 : -1;
}

bool address_eq(const char *a, const char *b)
{
    char x[ADDRESS_TEXT_BYTES], y[ADDRESS_TEXT_BYTES];
    if (str_eq(a, b))
        return true;
    if (a == NULL || b == NULL || strchr(a, ':') == NULL || strchr(b, ':') == NULL)
        return false; /* an IPv4 address has one spelling only */
    return address_canonical(a, x) == 0 && address_canonical(b, y) == 0 && strcmp(x, y) == 0;
}
