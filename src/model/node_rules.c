#include "model/node_rules.h"

#include <arpa/inet.h>

#include "base/buf.h"
#include "base/str.h"

const struct node_rules node_rules_default = {
    .types = {NODE_INTERNAL_IP},
    .type_count = 1,
    .family = IP_FAMILY_DUAL,
};

#define EXCLUDE_LABEL "node.kubernetes.io/exclude-from-external-load-balancers"
#define AUTOSCALER_TAINT "ToBeDeletedByClusterAutoscaler"

const struct node_exclusion_rule node_exclusions[NODE_EXCLUSIONS] = {
    {EXCLUDED_BY_LABEL, EXCLUDE_LABEL, "it has the label " EXCLUDE_LABEL},
    {EXCLUDED_BY_TAINT, AUTOSCALER_TAINT,
     "it has the taint " AUTOSCALER_TAINT ": the cluster autoscaler is about to remove it"},
    {EXCLUDED_BY_DELETION, NULL, "it is being deleted (metadata.deletionTimestamp is set)"},
};

uint8_t node_excluded_by(enum node_exclusion_by by, const char *key)
{
    unsigned rows = 0;
    for (size_t row = 0; row < NODE_EXCLUSIONS; row++)
        if (node_exclusions[row].by == by && str_eq(node_exclusions[row].key, key))
            rows |= 1u << row;
    return (uint8_t)rows;
}

const char *node_exclusion(const struct node *n, const struct node_rules *rules)
{
    for (size_t row = 0; row < NODE_EXCLUSIONS; row++)
        if ((n->excluded_by & (1u << row)) && !(rules->ignores_label && node_exclusions[row].by == EXCLUDED_BY_LABEL))
            return node_exclusions[row].sentence;
    return NULL;
}

/* The families that may be used, preferred first. */
struct families {
    int list[2];
    size_t count;
    bool ordered;    /* false: whichever the node lists first */
    int not_offered; /* one that the rules allow and the Service lacks; 0: none */
};

static struct families families_of(enum ip_family_rule rule, const struct service *service, bool strict)
{
    bool known = service != NULL && service->families[0] != 0;
    bool six_first = rule == IP_FAMILY_IPV6 || rule == IP_FAMILY_IPV6_FIRST ||
                     (rule == IP_FAMILY_DUAL && known && service->families[0] == AF_INET6);
    const int order[2] = {six_first ? AF_INET6 : AF_INET, six_first ? AF_INET : AF_INET6};
    size_t allowed = rule == IP_FAMILY_IPV4 || rule == IP_FAMILY_IPV6 ? 1 : 2;
    struct families f = {.ordered = rule != IP_FAMILY_DUAL || known};
    for (size_t i = 0; i < allowed; i++)
        if (strict && known && service->families[0] != order[i] && service->families[1] != order[i])
            f.not_offered = order[i];
        else
            f.list[f.count++] = order[i];
    return f;
}

/* A name may resolve to either family; text of another type that is no literal is no address at all. */
static bool is_of_family(const struct node_address *a, int family)
{
    int own = str_ip_family(a->text);
    return own == family || (own == 0 && a->type == NODE_HOSTNAME && !str_empty(a->text));
}

const struct node_address *node_address_choose(const struct node *n, const struct node_rules *rules,
                                               const struct service *service, bool strict)
{
    struct families f = families_of(rules->family, service, strict);
    size_t at_once = f.ordered ? 1 : f.count;
    for (size_t t = 0; t < rules->type_count; t++)
        for (size_t i = 0; i < f.count; i += at_once)
            for (size_t k = 0; k < n->address_count; k++) /* in the node's order */
                for (size_t family = i; family < i + at_once; family++)
                    if (n->addresses[k].type == rules->types[t] && is_of_family(&n->addresses[k], f.list[family]))
                        return &n->addresses[k];
    return NULL;
}

static const char *family_name(int family)
{
    return family == AF_INET6 ? "IPv6" : "IPv4";
}

char *node_rules_text(const struct node_rules *rules, const struct service *service, bool strict)
{
    static const char *const names[] = {
        [NODE_INTERNAL_IP] = "InternalIP", [NODE_EXTERNAL_IP] = "ExternalIP", [NODE_HOSTNAME] = "Hostname"};
    struct families f = families_of(rules->family, service, strict);
    struct buf b = {0};
    for (size_t t = 0; t < rules->type_count; t++)
        buf_printf(&b, "%s%s", t > 0 ? " or " : "", names[rules->types[t]]);
    for (size_t i = 0; i < f.count; i++)
        buf_printf(&b, "%s%s", i > 0 ? " or " : ", ", family_name(f.list[i]));
    if (f.count == 0)
        buf_printf(&b, ", %s", family_name(f.not_offered));
    if (f.not_offered != 0)
        buf_printf(&b, "; the Service has no %s", family_name(f.not_offered));
    return buf_take(&b);
}
