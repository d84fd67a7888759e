/* src/haproxy/storage_files: names as the Data Plane API changes them, what is refused, and by which words. */
#include "haproxy/storage_files.h"

#include "../certs.h"

static struct storage_files files;

static void setup(void)
{
    files = (struct storage_files){0};
}

static void teardown(void)
{
    storage_files_fini(&files);
}

static void add(enum storage_kind kind, const char *name, const char *bytes)
{
    ck_assert_msg(storage_files_add(&files, kind, name, bytes, strlen(bytes), &flaw) == 0, "%s", flaw.message);
}

static void assert_refused(enum storage_kind kind, const char *name, const char *bytes, size_t len, const char *message)
{
    size_t count = files.count;
    ck_assert_int_eq(storage_files_add(&files, kind, name, bytes, len, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_str_eq(flaw.message, message);
    ck_assert_uint_eq(files.count, count);
}

/* As tests/conformance/test_storage.py has them of the real thing. */
static const struct {
    enum storage_kind kind;
    const char *name, *stored;
} names[] = {
    {STORAGE_MAP, "paths", "paths.map"},
    {STORAGE_MAP, "a.b.map", "a_b.map"},
    {STORAGE_MAP, "a-b_c.map", "a-b_c.map"},
    {STORAGE_MAP, "x.txt", "x.txt.map"},
    {STORAGE_MAP, "X.MAP", "X.MAP.map"},
    {STORAGE_MAP, "a..map", "a_.map"},
    {STORAGE_MAP, "x.map.map", "x_map.map"},
    {STORAGE_MAP, "-", "-.map"},
    {STORAGE_GENERAL, "x", "x"},
    {STORAGE_GENERAL, "e.503.http", "e_503.http"},
    {STORAGE_GENERAL, "a.b.c", "a_b.c"},
};

FIXTURE(setup, teardown)

TEST_EACH(stored_names, sizeof(names) / sizeof(names[0]))
{
    add(names[_i].kind, names[_i].name, "a b\n");
    ck_assert_str_eq(files.list[0].stored, names[_i].stored);
    ck_assert_str_eq(files.list[0].name, names[_i].name);
    ck_assert_ptr_eq(storage_files_find(&files, names[_i].kind, names[_i].stored), &files.list[0]);
}

TEST(names_that_become_the_same)
{
    add(STORAGE_MAP, "a.b.map", "x y\n");
    assert_refused(STORAGE_MAP, "a_b.map", "x y\n", 4,
                   "maps/a_b.map: it is stored as a_b.map, as is maps/a.b.map; rename one of them");
    add(STORAGE_GENERAL, "a_b.map", "of another folder\n");
    assert_refused(STORAGE_GENERAL, STORAGE_LIST, "x", 1,
                   "files/haproxy-k8s-sync.files: the daemon keeps a list of its own by that name");
}

#define NAME_RULE                                                                                                     \
    "the name of a file has letters, digits, \"-\", \"_\" and \".\" only, does not begin with \".\" and has at most " \
    "200 bytes"

TEST(names_that_are_none)
{
    assert_refused(STORAGE_MAP, "", "", 0, "maps/: " NAME_RULE);
    assert_refused(STORAGE_MAP, ".map", "", 0, "maps/.map: " NAME_RULE);
    assert_refused(STORAGE_GENERAL, "../x", "", 0, "files/../x: " NAME_RULE);
    assert_refused(STORAGE_GENERAL, "a b", "", 0, "files/a b: " NAME_RULE);
    char name[STORAGE_NAME_MAX_BYTES + 2];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ck_assert_int_eq(storage_files_add(&files, STORAGE_GENERAL, name, "", 0, &flaw), -1);
    name[sizeof(name) - 2] = '\0';
    add(STORAGE_GENERAL, name, "");
}

TEST(order_and_hash)
{
    char first[DIGEST_SHA256_HEX_BYTES], second[DIGEST_SHA256_HEX_BYTES], third[DIGEST_SHA256_HEX_BYTES];
    add(STORAGE_GENERAL, "b", "1");
    add(STORAGE_MAP, "z.map", "k v\n");
    add(STORAGE_GENERAL, "a", "2");
    ck_assert_str_eq(files.list[0].stored, "z.map");
    ck_assert_str_eq(files.list[1].stored, "a");
    ck_assert_str_eq(files.list[2].stored, "b");
    ck_assert_uint_eq(files.bytes, 6);
    storage_files_hash(&files, first);
    storage_files_fini(&files);
    add(STORAGE_MAP, "z.map", "k v\n");
    add(STORAGE_GENERAL, "a", "2");
    add(STORAGE_GENERAL, "b", "1");
    storage_files_hash(&files, second);
    ck_assert_str_eq(first, second);
    storage_files_fini(&files);
    add(STORAGE_MAP, "z.map", "k w\n");
    add(STORAGE_GENERAL, "a", "2");
    add(STORAGE_GENERAL, "b", "1");
    storage_files_hash(&files, third);
    ck_assert_str_ne(first, third);
    ck_assert_ptr_null(storage_files_find(&files, STORAGE_GENERAL, "z.map"));
}

TEST(maps)
{
    cleanup(mem_free_ptr) char *line = mem_alloc(16384 + 8);
    memset(line, 'x', 16383);
    memcpy(line, "k ", 2);
    assert_refused(STORAGE_MAP, "a.map", line, 16383,
                   "maps/a.map: line 1 has 16383 bytes, and HAProxy reads lines of at most 16382");
    memcpy(line + 16000, "\nk ", 3);
    add(STORAGE_MAP, "a.map", line);
    assert_refused(STORAGE_MAP, "b.map", "k v\0w", 5, "maps/b.map: there is a NUL byte in it, and a map is text");
    ck_assert_int_eq(storage_files_add(&files, STORAGE_GENERAL, "b", "k v\0w", 5, &flaw), 0);
    ck_assert_uint_eq(storage_files_find(&files, STORAGE_GENERAL, "b")->len, 5);
    add(STORAGE_MAP, "empty.map", "");
}

TEST(sizes)
{
    cleanup(mem_free_ptr) char *large = mem_alloc(STORAGE_FILE_MAX_BYTES + 1);
    assert_refused(STORAGE_GENERAL, "l", large, STORAGE_FILE_MAX_BYTES + 1,
                   "files/l: it has 16777217 bytes, and more than 16777216 are not taken");
    files.bytes = 3 * (size_t)STORAGE_FILE_MAX_BYTES; /* as if of others */
    ck_assert_int_eq(storage_files_add(&files, STORAGE_GENERAL, "d", large, STORAGE_FILE_MAX_BYTES, &flaw), 0);
    assert_refused(STORAGE_GENERAL, "e", "x", 1, "files/e: with it the files have more than 67108864 bytes together");
    storage_files_fini(&files);
    /* Each that is added copies the list. */
    files.list = mem_array(STORAGE_FILES_MAX - 1, sizeof(*files.list));
    for (; files.count < STORAGE_FILES_MAX - 1; files.count++)
        files.list[files.count] = (struct storage_file){.kind = STORAGE_GENERAL,
                                                        .place = STORAGE_GENERAL,
                                                        .name = mem_printf("n%04zu", files.count),
                                                        .stored = mem_printf("n%04zu", files.count),
                                                        .bytes = mem_strdup("")};
    add(STORAGE_GENERAL, "z", "");
    assert_refused(STORAGE_GENERAL, "e", "x", 1, "files/e: more than 5000 files are not taken");
}

TEST(certificates)
{
    EVP_PKEY *key = EVP_EC_gen("P-256"), *ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), *other = EVP_EC_gen("P-384");
    cleanup(mem_free_ptr) char *cert = certs_cert_pem(key), *key_pem = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *other_cert = certs_cert_pem(other), *other_pem = certs_key_pem(other, NULL);
    cleanup(mem_free_ptr) char *ed_cert = certs_cert_pem(ed), *ed_pem = certs_key_pem(ed, NULL);
    cleanup(mem_free_ptr) char *both = mem_join(cert, key_pem), *back = mem_join(other_pem, other_cert);
    cleanup(mem_free_ptr) char *ed_both = mem_join(ed_cert, ed_pem), *wrong = mem_join(cert, other_pem);
    add(STORAGE_CERTIFICATE, "www.example.com.pem", both);
    ck_assert_ptr_nonnull(storage_files_find(&files, STORAGE_CERTIFICATE, "www_example_com.pem"));
    add(STORAGE_CERTIFICATE, "back.pem", back);
    ck_assert_ptr_nonnull(storage_files_find(&files, STORAGE_CERTIFICATE, "back.pem"));
    add(STORAGE_CERTIFICATE, "ed.pem", ed_both);
    ck_assert_int_eq(storage_files_find(&files, STORAGE_GENERAL, "ed.pem")->kind, STORAGE_CERTIFICATE);
    assert_refused(STORAGE_GENERAL, "ed.pem", "x", 1,
                   "files/ed.pem: it is stored as ed.pem, as is certs/ed.pem; rename one of them");
    assert_refused(STORAGE_CERTIFICATE, "n.pem", cert, strlen(cert),
                   "certs/n.pem: no PEM private key that can be read beside the certificate (one with a passphrase "
                   "cannot); what has none, a CA for one, belongs to files/");
    assert_refused(STORAGE_CERTIFICATE, "w.pem", wrong, strlen(wrong),
                   "certs/w.pem: the private key does not belong to the first certificate");
    assert_refused(STORAGE_CERTIFICATE, "h.pem", "hello", 5,
                   "certs/h.pem: no PEM certificate in it (\"-----BEGIN CERTIFICATE-----\")");
    EVP_PKEY_free(key);
    EVP_PKEY_free(ed);
    EVP_PKEY_free(other);
}
