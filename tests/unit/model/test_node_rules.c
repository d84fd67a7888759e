/* src/model/node_rules: one table for the addresses, one for the exclusions, and what must hold for any node. */
#include <arpa/inet.h>

#include "model/node_rules.h"

#include "../dice.h"
#include "../test.h"

#define LABEL 1u
#define TAINT 2u
#define DELETION 4u

TEST(a_key_has_its_row)
{
    ck_assert_uint_eq(node_excluded_by(EXCLUDED_BY_LABEL, "node.kubernetes.io/exclude-from-external-load-balancers"),
                      LABEL);
    ck_assert_uint_eq(node_excluded_by(EXCLUDED_BY_TAINT, "ToBeDeletedByClusterAutoscaler"), TAINT);
    ck_assert_uint_eq(node_excluded_by(EXCLUDED_BY_DELETION, NULL), DELETION);
    ck_assert_uint_eq(node_excluded_by(EXCLUDED_BY_LABEL, "ToBeDeletedByClusterAutoscaler"), 0);
    ck_assert_uint_eq(node_excluded_by(EXCLUDED_BY_TAINT, NULL), 0);
}

TEST(exclusions)
{
    static const struct {
        const char *what;
        struct node node;
        const char *says; /* NULL: eligible */
    } rows[] = {
        {"an ordinary one", {0}, NULL},
        {"cordoned", {.cordoned = true}, NULL},
        {"not ready", {.not_ready = true}, NULL},
        {"cordoned and not ready", {.cordoned = true, .not_ready = true}, NULL},
        {"label", {.excluded_by = LABEL}, "label node.kubernetes.io/exclude-from-external-load-balancers"},
        {"taint", {.excluded_by = TAINT}, "taint ToBeDeletedByClusterAutoscaler"},
        {"deletion", {.excluded_by = DELETION}, "being deleted"},
        {"label, though not ready", {.excluded_by = LABEL, .not_ready = true}, "label "},
        {"taint and cordon, as the autoscaler does it", {.excluded_by = TAINT, .cordoned = true}, "taint "},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        const char *why = node_exclusion(&rows[i].node, &node_rules_default);
        if (rows[i].says == NULL)
            ck_assert_msg(why == NULL, "%s: %s", rows[i].what, why);
        else
            ck_assert_msg(why != NULL && strstr(why, rows[i].says) != NULL, "%s: %s", rows[i].what, why);
    }
    const struct node labelled = {.excluded_by = LABEL}, tainted = {.excluded_by = LABEL | TAINT};
    const struct node_rules ignores = {.ignores_label = true};
    ck_assert_ptr_null(node_exclusion(&labelled, &ignores));
    ck_assert(str_has_prefix(node_exclusion(&tainted, &ignores), "it has the taint"));
}

static enum node_address_type type_of(char letter)
{
    ck_assert(letter != '\0' && strchr("IEH", letter) != NULL);
    return letter == 'I' ? NODE_INTERNAL_IP : letter == 'E' ? NODE_EXTERNAL_IP : NODE_HOSTNAME;
}

static struct node_rules rules_of(const char *types, enum ip_family_rule family)
{
    struct node_rules rules = {.type_count = strlen(types), .family = family};
    for (size_t i = 0; i < rules.type_count; i++)
        rules.types[i] = type_of(types[i]);
    return rules;
}

/* "46": dual-stack, IPv4 preferred; "": its families are not known. */
static struct service service_of(const char *families)
{
    struct service s = {0};
    for (size_t i = 0; families[i] != '\0'; i++)
        s.families[i] = families[i] == '6' ? AF_INET6 : AF_INET;
    return s;
}

/* "I:10.0.0.1 H:n1.example"; cuts words. */
static size_t addresses_of(char *words, struct node_address *ret)
{
    size_t count = 0;
    for (char *word; (word = strsep(&words, " ")) != NULL;)
        if (word[0] != '\0')
            ret[count++] = (struct node_address){type_of(word[0]), word + 2};
    return count;
}

#define DUAL IP_FAMILY_DUAL
#define V4 IP_FAMILY_IPV4
#define V6 IP_FAMILY_IPV6
#define V4_FIRST IP_FAMILY_IPV4_FIRST
#define V6_FIRST IP_FAMILY_IPV6_FIRST
#define LAX false
#define STRICT true
#define BOTH "I:10.0.0.1 I:fd00::1"
#define BOTH_6 "I:fd00::1 I:10.0.0.1"

static const struct {
    const char *node, *types;
    enum ip_family_rule family;
    const char *service; /* NULL: not known */
    bool strict;
    const char *chosen; /* NULL: none */
} rows[] = {
    /* the family alone */
    {"I:10.0.0.1", "I", DUAL, NULL, LAX, "10.0.0.1"},
    {"I:fd00::1", "I", DUAL, NULL, LAX, "fd00::1"},
    {BOTH, "I", DUAL, NULL, LAX, "10.0.0.1"},
    {BOTH_6, "I", DUAL, NULL, LAX, "fd00::1"},
    {BOTH, "I", V4, NULL, LAX, "10.0.0.1"},
    {BOTH_6, "I", V4, NULL, LAX, "10.0.0.1"},
    {BOTH, "I", V6, NULL, LAX, "fd00::1"},
    {BOTH, "I", V4_FIRST, NULL, LAX, "10.0.0.1"},
    {BOTH_6, "I", V4_FIRST, NULL, LAX, "10.0.0.1"},
    {BOTH, "I", V6_FIRST, NULL, LAX, "fd00::1"},
    {"I:fd00::1", "I", V4, NULL, LAX, NULL},
    {"I:10.0.0.1", "I", V6, NULL, LAX, NULL},
    {"I:fd00::1", "I", V4_FIRST, NULL, LAX, "fd00::1"},
    {"I:10.0.0.1", "I", V6_FIRST, NULL, LAX, "10.0.0.1"},
    {"", "I", DUAL, NULL, LAX, NULL},
    /* two of one family: the first */
    {"I:10.0.0.9 I:10.0.0.1", "I", DUAL, NULL, LAX, "10.0.0.9"},
    {"I:10.0.0.9 I:10.0.0.1", "I", V4, NULL, LAX, "10.0.0.9"},
    /* the Service's families, where they only prefer */
    {BOTH, "I", DUAL, "4", LAX, "10.0.0.1"},
    {BOTH, "I", DUAL, "6", LAX, "fd00::1"},
    {BOTH, "I", DUAL, "64", LAX, "fd00::1"},
    {BOTH_6, "I", DUAL, "46", LAX, "10.0.0.1"},
    {BOTH_6, "I", DUAL, "", LAX, "fd00::1"},
    {"I:10.0.0.1", "I", DUAL, "6", LAX, "10.0.0.1"},
    {"I:fd00::1", "I", DUAL, "4", LAX, "fd00::1"},
    {BOTH, "I", V4, "6", LAX, "10.0.0.1"},
    {BOTH, "I", V4_FIRST, "64", LAX, "10.0.0.1"},
    {BOTH, "I", V6_FIRST, "46", LAX, "fd00::1"},
    /* and where they limit */
    {BOTH, "I", DUAL, "4", STRICT, "10.0.0.1"},
    {BOTH, "I", DUAL, "6", STRICT, "fd00::1"},
    {BOTH, "I", DUAL, "64", STRICT, "fd00::1"},
    {"I:10.0.0.1", "I", DUAL, "64", STRICT, "10.0.0.1"},
    {"I:10.0.0.1", "I", DUAL, "6", STRICT, NULL},
    {"I:fd00::1", "I", DUAL, "4", STRICT, NULL},
    {BOTH, "I", V4, "6", STRICT, NULL},
    {BOTH, "I", V6, "46", STRICT, "fd00::1"},
    {BOTH, "I", V4_FIRST, "6", STRICT, "fd00::1"},
    {BOTH_6, "I", V6_FIRST, "4", STRICT, "10.0.0.1"},
    {BOTH_6, "I", DUAL, "", STRICT, "fd00::1"},
    {BOTH_6, "I", DUAL, NULL, STRICT, "fd00::1"},
    {"I:fd00::1", "I", V4, NULL, STRICT, NULL},
    /* types in their order; the type goes before the family */
    {"I:10.0.0.1 E:192.0.2.1", "IE", DUAL, NULL, LAX, "10.0.0.1"},
    {"I:10.0.0.1 E:192.0.2.1", "EI", DUAL, NULL, LAX, "192.0.2.1"},
    {"I:10.0.0.1 E:192.0.2.1", "E", DUAL, NULL, LAX, "192.0.2.1"},
    {"I:10.0.0.1", "E", DUAL, NULL, LAX, NULL},
    {"I:10.0.0.1", "EI", DUAL, NULL, LAX, "10.0.0.1"},
    {"I:10.0.0.1 E:2001:db8::1", "IE", V6_FIRST, NULL, LAX, "10.0.0.1"},
    {"I:10.0.0.1 E:2001:db8::1", "IE", V6, NULL, LAX, "2001:db8::1"},
    {"I:10.0.0.1 E:2001:db8::1", "IE", DUAL, "6", STRICT, "2001:db8::1"},
    /* host names */
    {"H:n1.example", "H", DUAL, NULL, LAX, "n1.example"},
    {"H:n1.example", "H", V4, NULL, LAX, "n1.example"},
    {"H:n1.example", "H", V6, "6", STRICT, "n1.example"},
    {"H:n1.example", "H", V4, "6", STRICT, NULL},
    {"H:n1.example", "I", DUAL, NULL, LAX, NULL},
    {"H:n1.example I:10.0.0.1", "I", DUAL, NULL, LAX, "10.0.0.1"},
    {"H:n1.example I:10.0.0.1", "IH", V6, NULL, LAX, "n1.example"},
    {"H:10.0.0.7", "H", V4, NULL, LAX, "10.0.0.7"},
    {"H:10.0.0.7", "H", V6, NULL, LAX, NULL},
    {"H:10.0.0.7 H:n1.example", "H", V6, NULL, LAX, "n1.example"},
    {"H:10.0.0.7 H:n1.example", "H", V4, NULL, LAX, "10.0.0.7"},
    {"H: H:n1.example", "H", DUAL, NULL, LAX, "n1.example"},
    /* text that is no address does not become one by its type */
    {"I:nonsense I:10.0.0.1", "I", DUAL, NULL, LAX, "10.0.0.1"},
    {"I:nonsense", "I", V4, NULL, LAX, NULL},
};

TEST_EACH(addresses, array_len(rows))
{
    cleanup(mem_free_ptr) char *words = mem_strdup(rows[_i].node);
    struct node_address list[NODE_ADDRESSES_MAX];
    const struct node node = {.addresses = list, .address_count = addresses_of(words, list)};
    struct node_rules rules = rules_of(rows[_i].types, rows[_i].family);
    struct service service = service_of(rows[_i].service != NULL ? rows[_i].service : "");
    const struct node_address *got =
        node_address_choose(&node, &rules, rows[_i].service != NULL ? &service : NULL, rows[_i].strict);
    const char *text = got != NULL ? got->text : NULL;
    ck_assert_msg(str_eq(text, rows[_i].chosen), "%s by %s: %s, not %s", rows[_i].node, rows[_i].types, text,
                  rows[_i].chosen);
}

TEST(texts)
{
    static const struct {
        const char *types;
        enum ip_family_rule family;
        const char *service;
        bool strict;
        const char *text;
    } cases[] = {
        {"I", V4, NULL, LAX, "InternalIP, IPv4"},
        {"I", DUAL, NULL, LAX, "InternalIP, IPv4 or IPv6"},
        {"I", DUAL, "64", LAX, "InternalIP, IPv6 or IPv4"},
        {"EI", V6, NULL, STRICT, "ExternalIP or InternalIP, IPv6"},
        {"IEH", V6_FIRST, NULL, LAX, "InternalIP or ExternalIP or Hostname, IPv6 or IPv4"},
        {"I", DUAL, "4", LAX, "InternalIP, IPv4 or IPv6"},
        {"I", DUAL, "4", STRICT, "InternalIP, IPv4; the Service has no IPv6"},
        {"I", V6_FIRST, "4", STRICT, "InternalIP, IPv4; the Service has no IPv6"},
        {"I", V4, "6", STRICT, "InternalIP, IPv4; the Service has no IPv4"},
        {"I", V4, "64", STRICT, "InternalIP, IPv4"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct node_rules rules = rules_of(cases[i].types, cases[i].family);
        struct service service = service_of(cases[i].service != NULL ? cases[i].service : "");
        cleanup(mem_free_ptr) char *text =
            node_rules_text(&rules, cases[i].service != NULL ? &service : NULL, cases[i].strict);
        ck_assert_str_eq(text, cases[i].text);
    }
    cleanup(mem_free_ptr) char *usual = node_rules_text(&node_rules_default, NULL, LAX);
    ck_assert_str_eq(usual, "InternalIP, IPv4 or IPv6");
}

/* How good an address is by the header's words: the smaller the better, -1: not to be taken. */
static int rank_of(const struct node_address *a, const struct node_rules *rules, const struct service *service,
                   bool strict)
{
    int type = -1, family = str_ip_family(a->text), first = 0;
    for (size_t t = 0; t < rules->type_count && type < 0; t++)
        if (rules->types[t] == a->type)
            type = (int)t;
    bool known = service != NULL && service->families[0] != 0;
    if (rules->family == V4 || rules->family == V4_FIRST)
        first = AF_INET;
    else if (rules->family == V6 || rules->family == V6_FIRST)
        first = AF_INET6;
    else if (known)
        first = service->families[0];
    int only = rules->family == V4 ? AF_INET : rules->family == V6 ? AF_INET6 : 0;
    if (type < 0 || (only != 0 && family != 0 && family != only))
        return -1;
    if (strict && known) {
        int other = service->families[1];
        if (only != 0 && service->families[0] != only && other != only)
            return -1;
        if (family != 0 && service->families[0] != family && other != family)
            return -1;
        if (other == 0) /* one family is left: none is better than the other */
            first = 0;
    }
    return 2 * type + (first != 0 && family != 0 && family != first);
}

/* Some of the pool, in any order. */
static size_t random_addresses(struct dice *dice, struct node_address *ret)
{
    static const char *const pool[] = {"I:10.0.0.1", "I:fd00::1", "E:192.0.2.1", "E:2001:db8::1",
                                       "H:10.0.0.7", "H:fd00::7", "H:n1.example"};
    size_t count = 0;
    for (size_t i = 0; i < array_len(pool); i++)
        if (dice_one_in(dice, 2)) {
            size_t at = dice_below(dice, (unsigned)count + 1);
            memmove(ret + at + 1, ret + at, (count++ - at) * sizeof(ret[0]));
            ret[at] = (struct node_address){type_of(pool[i][0]), (char *)pool[i] + 2};
        }
    return count;
}

static const struct node_address *best_of(const struct node *n, const struct node_rules *rules,
                                          const struct service *service, bool strict)
{
    const struct node_address *best = NULL;
    for (size_t i = 0, best_rank = 0; i < n->address_count; i++) {
        int rank = rank_of(&n->addresses[i], rules, service, strict);
        if (rank < 0 || (best != NULL && (size_t)rank >= best_rank))
            continue;
        best = &n->addresses[i];
        best_rank = (size_t)rank;
    }
    return best;
}

TEST(any_node)
{
    static const char *const types[] = {"I", "E", "H", "IE", "EI", "IH", "HEI", "IEH"};
    static const char *const services[] = {"", "4", "6", "46", "64"};
    struct dice dice = {20240601};
    for (unsigned round = 0; round < 20000; round++) {
        struct node_address list[NODE_ADDRESSES_MAX];
        const struct node node = {.addresses = list, .address_count = random_addresses(&dice, list)};
        struct node_rules rules = rules_of(types[dice_below(&dice, array_len(types))], dice_below(&dice, 5));
        struct service service = service_of(services[dice_below(&dice, array_len(services))]);
        const struct service *known = dice_one_in(&dice, 4) ? NULL : &service;
        bool strict = dice_one_in(&dice, 2);
        const struct node_address *best = best_of(&node, &rules, known, strict);
        const struct node_address *got = node_address_choose(&node, &rules, known, strict);
        ck_assert_msg(got == best, "round %u: %s, not %s", round, got != NULL ? got->text : "none",
                      best != NULL ? best->text : "none");
    }
}
