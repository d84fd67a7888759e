/* src/haproxy/storage_known: certificates that are not parsed again. */
#include "haproxy/storage_known.h"

#include "../certs.h"

static struct storage_known *known;

static void setup(void)
{
    known = storage_known_new(false);
}

static void teardown(void)
{
    storage_known_free(known);
}

FIXTURE(setup, teardown)

TEST(what_was_added_is_found_with_its_place)
{
    enum storage_kind place = STORAGE_MAP;
    ck_assert(!storage_known_find(known, "aa", &place));
    ck_assert_int_eq(place, STORAGE_MAP);
    storage_known_add(known, "aa", STORAGE_CERTIFICATE);
    storage_known_add(known, "bb", STORAGE_GENERAL);
    storage_known_add(known, "aa", STORAGE_CERTIFICATE);
    ck_assert(storage_known_find(known, "aa", &place));
    ck_assert_int_eq(place, STORAGE_CERTIFICATE);
    ck_assert(storage_known_find(known, "bb", &place));
    ck_assert_int_eq(place, STORAGE_GENERAL);
}

TEST(what_a_configuration_did_not_ask_for_is_forgotten)
{
    enum storage_kind place;
    storage_known_add(known, "aa", STORAGE_CERTIFICATE);
    storage_known_add(known, "bb", STORAGE_CERTIFICATE);
    storage_known_end(known);
    ck_assert(storage_known_find(known, "aa", &place));
    storage_known_end(known);
    ck_assert(storage_known_find(known, "aa", &place));
    ck_assert(!storage_known_find(known, "bb", &place));
}

/* A certificate by its bytes, whatever its name; one that is bad is read each time, and others are not known by it. */
TEST(certificates_of_files)
{
    EVP_PKEY *key = EVP_EC_gen("P-256"), *ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    cleanup(mem_free_ptr) char *cert = certs_cert_pem(key), *key_pem = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *ed_cert = certs_cert_pem(ed), *ed_pem = certs_key_pem(ed, NULL);
    cleanup(mem_free_ptr) char *both = mem_join(cert, key_pem), *ed_both = mem_join(ed_cert, ed_pem);
    for (int turn = 0; turn < 2; turn++) {
        cleanup(storage_files_fini) struct storage_files files = {0};
        ck_assert_int_eq(
            storage_files_add_known(&files, known, STORAGE_CERTIFICATE, "a.pem", both, strlen(both), &flaw), 0);
        ck_assert_int_eq(
            storage_files_add_known(&files, known, STORAGE_CERTIFICATE, "e.pem", ed_both, strlen(ed_both), &flaw), 0);
        ck_assert_int_eq(
            storage_files_add_known(&files, known, STORAGE_CERTIFICATE, "b.pem", cert, strlen(cert), &flaw), -1);
        /* As a general file the same bytes are nothing to read, and go where those go. */
        ck_assert_int_eq(storage_files_add_known(&files, known, STORAGE_GENERAL, "g", both, strlen(both), &flaw), 0);
        ck_assert_ptr_nonnull(storage_files_find(&files, STORAGE_CERTIFICATE, "a.pem"));
        ck_assert_ptr_nonnull(storage_files_find(&files, STORAGE_GENERAL, "e.pem"));
        ck_assert_ptr_nonnull(storage_files_find(&files, STORAGE_GENERAL, "g"));
        ck_assert_uint_eq(files.count, 3);
        storage_known_end(known);
    }
    EVP_PKEY_free(key);
    EVP_PKEY_free(ed);
}

/* That what is known is not parsed: no text that is no certificate would pass otherwise. */
TEST(what_is_known_is_not_parsed)
{
    cleanup(storage_files_fini) struct storage_files files = {0};
    char hash[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex("x", 1, hash);
    storage_known_add(known, hash, STORAGE_GENERAL);
    ck_assert_int_eq(storage_files_add_known(&files, known, STORAGE_CERTIFICATE, "a.pem", "x", 1, &flaw), 0);
    ck_assert_int_eq(files.list[0].place, STORAGE_GENERAL);
    ck_assert_int_eq(storage_files_add(&files, STORAGE_CERTIFICATE, "b.pem", "x", 1, &flaw), -1);
}
