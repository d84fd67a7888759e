/* src/servers/change/ownership: whose a name is, where several clusters share a backend. */

#include "../../dice.h"
#include "../../effort.h"
#include "../../test.h"
#include "servers/change/ownership.h"

static const struct {
    const char *format, *cluster, *name;
    enum ownership is;
    const char *of; /* whose; NULL: no cluster's */
} rows[] = {
    {"{cluster}_{node}", "a", "a_n1", OWNERSHIP_OWN, "a"},
    {"{cluster}_{node}", "a", "b_n1", OWNERSHIP_OTHER, "b"},
    {"{cluster}_{node}", "a", "n1", OWNERSHIP_NONE, NULL},
    {"{cluster}_{node}", "a", "a-b_n1", OWNERSHIP_OTHER, "a-b"},
    {"{cluster}_{node}", "a-b", "a_b-n1", OWNERSHIP_OTHER, "a"},
    {"{cluster}_{node}", "a", "A_n1", OWNERSHIP_OTHER, "A"},
    {"{cluster}_{node}", "a", "a_n_1", OWNERSHIP_NONE, NULL},
    {"{cluster}_{node}", "a", "a_", OWNERSHIP_NONE, NULL},
    {"{cluster}_{node}", "a", "_n1", OWNERSHIP_NONE, NULL},
    {"{cluster}_{node}", "a.b", "a.b_n1.c", OWNERSHIP_OWN, "a.b"},
    {"{node}_{cluster}", "a", "n1_a", OWNERSHIP_OWN, "a"},
    {"{node}_{cluster}", "a", "a_n1", OWNERSHIP_OTHER, "n1"},
    {"{node}-{port}_k8s-{cluster}", "a", "n1-80_k8s-a", OWNERSHIP_OWN, "a"},
    {"{node}-{port}_k8s-{cluster}", "a", "n1-80_k8s-a-b", OWNERSHIP_OTHER, "a-b"},
    {"{node}-{port}_k8s-{cluster}", "a", "n1-80_a", OWNERSHIP_NONE, NULL},
    {"web_{cluster}.k_{address}:{port}", "a", "web_a.k_fd00::1:80", OWNERSHIP_OWN, "a"},
    {"web_{cluster}.k_{address}:{port}", "a", "web_a_fd00::1:80", OWNERSHIP_NONE, NULL},
    {"web_{cluster}.k_{address}:{port}", "a", "api_a.k_fd00::1:80", OWNERSHIP_NONE, NULL},
};

TEST_EACH(each_name, sizeof(rows) / sizeof(rows[0]))
{
    cleanup(mem_free_ptr) char *of = ownership_cluster(rows[_i].format, rows[_i].name);
    enum ownership is = ownership_of(rows[_i].format, rows[_i].cluster, rows[_i].name);
    ck_assert_msg(is == rows[_i].is, "%s of %s: %d", rows[_i].name, rows[_i].format, is);
    ck_assert_pstr_eq(of, rows[_i].of);
}

TEST(without_a_cluster_all_are_its_own)
{
    ck_assert_int_eq(ownership_of(NULL, NULL, "n1"), OWNERSHIP_OWN);
    ck_assert_int_eq(ownership_of("{node}-{port}", NULL, "a_n1"), OWNERSHIP_OWN);
    ck_assert_ptr_null(ownership_cluster("{node}-{port}", "n1-80"));
    ck_assert_ptr_null(ownership_cluster(NULL, "n1"));
}

static const struct {
    const char *format, *name, *extended;
} extensions[] = {
    {"{cluster}_{node}", "a_n1", "a_n1-x"},
    {"{address}_{cluster}", "10.0.0.1_a", "10.0.0.1-x_a"},
    {"k-{address}-k_{cluster}_w", "k-1.2-k_a_w", "k-1.2-x-k_a_w"},
    {"w_{cluster}_{address}-{port}", "w_a_1.2-80", "w_a_1.2-80-x"},
};

TEST_EACH(each_extension, sizeof(extensions) / sizeof(extensions[0]))
{
    cleanup(mem_free_ptr) char *text = ownership_extend(extensions[_i].format, extensions[_i].name, "-x");
    ck_assert_str_eq(text, extensions[_i].extended);
}

/* Of the characters that a cluster's name, a node's, an address and a port may have: few of them, so that they meet. */
static void random_text(struct dice *dice, struct buf *out)
{
    static const char chars[] = "ab1-.:";
    for (unsigned left = 1 + dice_below(dice, 4); left > 0; left--)
        buf_addn(out, &chars[dice_below(dice, sizeof(chars) - 1)], 1);
}

static char *random_cluster(struct dice *dice)
{
    struct buf out = {0};
    random_text(dice, &out);
    for (char *c = out.data; *c != '\0'; c++)
        *c = *c == ':' ? 'a' : *c;
    return buf_take(&out);
}

static char *random_name(struct dice *dice, const char *format, const char *cluster)
{
    struct buf out = {0};
    for (const char *at = format; *at != '\0';) {
        if (*at != '{') {
            buf_addn(&out, at++, 1);
            continue;
        }
        if (str_has_prefix(at, "{cluster}"))
            buf_add(&out, cluster);
        else
            random_text(dice, &out);
        at = strchr(at, '}') + 1;
    }
    return buf_take(&out);
}

/* A name is of the cluster that made it, and of no other one. */
TEST(no_name_is_of_two_clusters)
{
    static const char *const formats[] = {"{cluster}_{node}",           "{node}_{cluster}",
                                          "{node}{port}_{cluster}",     "a{cluster}-_{address}{port}",
                                          "{address}:{port}_{cluster}", "{node}_-{cluster}a_{port}",
                                          "{cluster}__{node}",          "_{cluster}_{node}_"};
    struct dice dice = {.state = 0x9e3779b97f4a7c15u};
    int others = 0;
    for (int round = 0; round < effort(200000); round++) {
        const char *format = formats[dice_below(&dice, 8)];
        cleanup(mem_free_ptr) char *one = random_cluster(&dice), *two = random_cluster(&dice);
        cleanup(mem_free_ptr) char *name = random_name(&dice, format, one);
        cleanup(mem_free_ptr) char *extended = ownership_extend(format, name, "-n1");
        cleanup(mem_free_ptr) char *of = ownership_cluster(format, name), *still = ownership_cluster(format, extended);
        ck_assert_msg(ownership_of(format, one, name) == OWNERSHIP_OWN, "%s of %s by %s", name, one, format);
        ck_assert_msg(str_eq(one, two) || ownership_of(format, two, name) == OWNERSHIP_OTHER, "%s of %s, not %s, by %s",
                      name, one, two, format);
        ck_assert_str_eq(of, one);
        ck_assert_str_eq(still, one);
        others += !str_eq(one, two);
    }
    ck_assert_int_gt(others, effort(100000));
}
