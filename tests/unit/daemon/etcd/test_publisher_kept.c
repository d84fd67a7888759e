/* src/daemon/etcd/publisher_kept: what lies below a producer's path, and what of it goes. */

#include "daemon/etcd/publisher_kept.h"

#include "../../test.h"

#define VERSIONS 6

/* A part is called by one letter here. */
static void hash_of(char letter, char ret[DIGEST_SHA256_HEX_BYTES])
{
    memset(ret, letter, DIGEST_SHA256_HEX_BYTES - 1);
    ret[DIGEST_SHA256_HEX_BYTES - 1] = '\0';
}

static void parts_of(const char *letters, struct published_parts *ret)
{
    ret->list = mem_array(strlen(letters), sizeof(ret->list[0]));
    for (; *letters != '\0'; letters++)
        hash_of(*letters, ret->list[ret->count++]);
}

/* "ab|c": of the configuration parts a and b, of the files part c. */
static struct published_manifest manifest_of(uint64_t version, const char *letters)
{
    struct published_manifest m = {
        .version = version, .published_ms = 1764237600000, .producer = mem_strdup("p"), .cluster = mem_strdup("east")};
    cleanup(mem_free_ptr) char *text = mem_strdup(letters);
    char *bar = strchr(text, '|');
    if (bar != NULL)
        *bar = '\0';
    parts_of(text, &m.text);
    parts_of(bar != NULL ? bar + 1 : "", &m.files);
    hash_of('f', m.hash);
    m.len = m.text.count * PUBLISHED_PART_MAX_BYTES;
    for (size_t i = 0; i < m.files.count; i++) {
        m.list = mem_resize(m.list, i + 1, sizeof(m.list[0]));
        m.list[i] = (struct published_file){
            .kind = STORAGE_MAP, .name = mem_printf("m%zu", i), .len = PUBLISHED_PART_MAX_BYTES};
        hash_of('e', m.list[i].hash);
        m.file_count++;
    }
    return m;
}

static void take_part(struct kept *k, const char *name, int64_t revision)
{
    cleanup(mem_free_ptr) char *key = mem_printf("/p/parts/%s", name);
    struct etcd_kv kv = {.key = key, .mod_revision = revision};
    kept_take_parts(k, &(struct etcd_got){.list = &kv, .count = 1});
}

/* Each letter at its revision: 100 + its place. */
static void take_letters(struct kept *k, const char *letters)
{
    for (size_t i = 0; letters[i] != '\0'; i++) {
        char hash[DIGEST_SHA256_HEX_BYTES];
        hash_of(letters[i], hash);
        take_part(k, hash, 100 + (int64_t)i);
    }
}

/* "3:ab 2:a 1:c|d"; a name that is another one than its number: "9=3:ab". */
static void take_versions(struct kept *k, const char *text)
{
    struct etcd_kv list[VERSIONS] = {0};
    struct buf values[VERSIONS] = {0};
    size_t count = 0;
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *left = NULL;
    for (char *one = strtok_r(copy, " ", &left); one != NULL; one = strtok_r(NULL, " ", &left)) {
        char *colon = strchr(one, ':'), *equals = strchr(one, '=');
        *colon = '\0';
        uint64_t name = strtoull(one, NULL, 10), number = equals != NULL ? strtoull(equals + 1, NULL, 10) : name;
        cleanup(published_manifest_fini) struct published_manifest m = manifest_of(number, colon + 1);
        published_manifest_print(&m, &values[count]);
        list[count] = (struct etcd_kv){.key = mem_printf("/p/versions/%llu", (unsigned long long)name),
                                       .value = values[count].data,
                                       .value_len = values[count].len};
        count++;
    }
    kept_take_versions(k, &(struct etcd_got){.list = list, .count = count});
    for (size_t i = 0; i < count; i++) {
        free(list[i].key);
        buf_fini(&values[i]);
    }
}

/* "2 1 c": numbers of versions, letters of parts. */
static void name_keys(const char *const *keys, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = strrchr(keys[i], '/') + 1;
        buf_printf(out, "%s%.*s", i > 0 ? " " : "", str_has_prefix(keys[i], "/p/parts/") ? 1 : 20, name);
    }
}

static const struct {
    const char *versions, *parts, *published;
    unsigned keep;
    const char *old;
} olds[] = {
    {"", "", "a", 3, ""},
    {"1:a", "ab", "b", 3, ""},
    {"1:a", "ab", "b", 2, ""},
    {"1:a", "ab", "b", 1, "1 a"},
    {"3:c 2:b 1:a", "abcd", "d", 3, "1 a"},
    {"1:a 2:b 3:c", "abcd", "d", 3, "1 a"}, /* whatever their order */
    {"9:a 10:b", "abc", "c", 2, "9 a"},     /* numbers, not texts */
    {"3:c 2:b 1:a", "abcd", "d", 2, "2 1 a b"},
    {"3:c 2:b 1:a", "abcd", "d", 1, "3 2 1 a b c"},
    {"3:a 2:b 1:a", "abd", "d", 3, "1"},       /* a newer one names it still */
    {"2:b 1:a", "abd", "a", 1, "2 1 b d"},     /* so does what was published now */
    {"2:b|c 1:a|d", "abcde", "e", 2, "1 a d"}, /* those of files, too */
    {"2:b 1:a", "abcx", "c", 3, "x"},          /* one that nothing names */
    {"7=2:b 1:a", "abc", "c", 2, "b"},         /* what is called otherwise is another writer's */
};

TEST_EACH(old_versions_and_their_parts_go, array_len(olds))
{
    cleanup(kept_fini) struct kept k = {0};
    cleanup(published_manifest_fini) struct published_manifest m = manifest_of(11, olds[_i].published);
    cleanup(buf_fini) struct buf is = {0};
    struct etcd_delete deletes[KEPT_DELETES_MAX];
    const char *keys[KEPT_DELETES_MAX];
    take_letters(&k, olds[_i].parts);
    take_versions(&k, olds[_i].versions);
    size_t count = kept_old(&k, &m, olds[_i].keep, deletes);
    for (size_t i = 0; i < count; i++) {
        ck_assert(!deletes[i].prefix);
        keys[i] = deletes[i].key;
    }
    name_keys(keys, count, &is);
    ck_assert_str_eq(buf_str(&is), olds[_i].old);
}

/* The others go with the next version. */
TEST(no_more_goes_than_one_transaction_takes)
{
    cleanup(kept_fini) struct kept k = {0};
    cleanup(published_manifest_fini) struct published_manifest m = manifest_of(11, "a");
    struct etcd_delete deletes[KEPT_DELETES_MAX];
    char hash[DIGEST_SHA256_HEX_BYTES];
    hash_of('b', hash);
    for (int i = 0; i < KEPT_DELETES_MAX + 5; i++) {
        hash[0] = (char)('0' + i % 10);
        hash[1] = (char)('0' + i / 10 % 10);
        hash[2] = (char)('0' + i / 100);
        take_part(&k, hash, 1);
    }
    ck_assert_uint_eq(kept_old(&k, &m, 3, deletes), KEPT_DELETES_MAX);
    take_versions(&k, "2:c 1:d");
    ck_assert_uint_eq(kept_old(&k, &m, 1, deletes), KEPT_DELETES_MAX);
    ck_assert_str_eq(deletes[0].key, "/p/versions/2");
}

static const struct {
    const char *parts, *names, *compared;
} compared[] = {
    {"", "a", ""},          {"abc", "b", "b101"}, {"abc", "ac", "a100 c102"}, {"abc", "a|b", "a100 b101"},
    {"abc", "a|a", "a100"},
};

TEST_EACH(each_part_that_is_named_is_compared, array_len(compared))
{
    cleanup(kept_fini) struct kept k = {0};
    cleanup(published_manifest_fini) struct published_manifest m = manifest_of(1, compared[_i].names);
    cleanup(buf_fini) struct buf is = {0};
    struct etcd_compare list[PUBLISHED_PARTS_MAX];
    take_letters(&k, compared[_i].parts);
    size_t count = kept_compare(&k, &m, list);
    for (size_t i = 0; i < count; i++)
        buf_printf(&is, "%s%c%lld", i > 0 ? " " : "", strrchr(list[i].key, '/')[1], (long long)list[i].mod_revision);
    ck_assert_str_eq(buf_str(&is), compared[_i].compared);
}

TEST(what_is_no_part_is_another_writers)
{
    cleanup(kept_fini) struct kept k = {0};
    char hash[DIGEST_SHA256_HEX_BYTES];
    hash_of('a', hash);
    take_part(&k, "README", 5);
    take_part(&k, "", 5);
    ck_assert_uint_eq(k.part_count, 0);
    take_part(&k, hash, 5);
    ck_assert_int_eq(kept_part_revision(&k, hash), 5);
    take_part(&k, hash, 6);
    ck_assert_int_eq(kept_part_revision(&k, hash), 6);
    ck_assert_uint_eq(k.part_count, 1);
    ck_assert_int_eq(kept_part_revision(&k, "b"), 0);
}

TEST(what_was_verified_is_forgotten_with_the_part)
{
    cleanup(kept_fini) struct kept verified = {0}, there = {0};
    char a[DIGEST_SHA256_HEX_BYTES], b[DIGEST_SHA256_HEX_BYTES], c[DIGEST_SHA256_HEX_BYTES];
    hash_of('a', a), hash_of('b', b), hash_of('c', c);
    take_part(&verified, a, 1), take_part(&verified, b, 2), take_part(&verified, c, 3);
    take_part(&there, a, 1), take_part(&there, c, 4);
    kept_forget_parts(&verified, &there);
    ck_assert_uint_eq(verified.part_count, 1);
    ck_assert_int_eq(kept_part_revision(&verified, a), 1);
}

static const struct {
    const char *versions;
    uint64_t there, last, next;
} nexts[] = {
    {"", 0, 0, 1}, {"", 4, 0, 5}, {"3:a 4:b", 4, 4, 5}, {"9:a 10:b", 0, 0, 11}, {"2:a", 3, 7, 8}, {"7=2:a", 0, 0, 1},
};

TEST_EACH(a_number_is_given_once, array_len(nexts))
{
    cleanup(kept_fini) struct kept k = {0};
    take_versions(&k, nexts[_i].versions);
    ck_assert_uint_eq(kept_next_version(&k, nexts[_i].there, nexts[_i].last), nexts[_i].next);
}
