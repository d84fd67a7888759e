/* TLS material that is read again: files are replaced, broken and swapped as Secret mounts and people do. */
#include "net/tls_files.h"

#include "base/clock.h"
#include "settings/secrets/secret.h"

#include "../certs.h"
#include "../folder.h"
#include "../log_file.h"

enum { CA, CERT, KEY };
static const char *const names[] = {"ca.crt", "tls.crt", "tls.key"};

static EVP_PKEY *key, *other_key;
static char *ca, *other_ca, *cert, *other_cert, *key_pem, *other_key_pem, *locked_pem;
static char *paths[3];
static struct tls_files_options options;
static struct tls_files *files;

/* In place; an old time, so that what a file looks like is believed at once. */
static void write_file_at(const char *path, const char *text, time_t when)
{
    write_file(path, text);
    set_mtime(path, when);
}

/* Each one is a second younger than the one before. */
static void put(int which, const char *text)
{
    static time_t when = 1000000;
    write_file_at(paths[which], text, ++when);
}

/* Once for all tests. */
static void make_certificates(void)
{
    key = EVP_EC_gen("P-256");
    other_key = EVP_EC_gen("P-256");
    ca = certs_cert_pem_for(key, 86400);
    other_ca = certs_cert_pem_for(other_key, 7200);
    cert = certs_cert_pem(key);
    other_cert = certs_cert_pem(other_key);
    key_pem = certs_key_pem(key, NULL);
    other_key_pem = certs_key_pem(other_key, NULL);
    locked_pem = certs_key_pem(key, "secret");
}

static void setup(void)
{
    folder_make();
    log_begin();
    if (key == NULL)
        make_certificates();
    for (size_t i = 0; i < array_len(paths); i++)
        paths[i] = in_folder(names[i]);
    options = (struct tls_files_options){.peer = "peer",
                                         .ca = {.name = "THE_CA", .path = paths[CA]},
                                         .cert = {.name = "THE_CERT", .path = paths[CERT]},
                                         .key = {.name = "THE_KEY", .path = paths[KEY]}};
    put(CA, ca);
    put(CERT, cert);
    put(KEY, key_pem);
}

static void teardown(void)
{
    tls_files_free(files);
    files = NULL;
    log_end();
    folder_remove();
    for (size_t i = 0; i < array_len(paths); i++)
        free(paths[i]);
}

static void load(void)
{
    files = tls_files_new(&options, &flaw);
    ck_assert_msg(files != NULL, "%s", flaw.message);
}

static void assert_in_use(const char *want_ca, const char *want_cert, const char *want_key)
{
    const struct http_tls *tls = tls_files_current(files);
    ck_assert_pstr_eq(tls->ca_pem, want_ca);
    ck_assert_pstr_eq(tls->cert_pem, want_cert);
    ck_assert_pstr_eq(tls->key_pem, want_key);
}

static void assert_says(const struct error *err, const char *what)
{
    ck_assert_int_eq(err->kind, ERROR_INVALID);
    ck_assert_msg(strstr(err->message, what) != NULL, "\"%s\" has no \"%s\"", err->message, what);
    ck_assert_ptr_null(strstr(err->message, "PRIVATE KEY"));
}

static bool refresh(void)
{
    bool renewed = false;
    ck_assert_msg(tls_files_refresh(files, &renewed, &flaw) == 0, "%s", flaw.message);
    return renewed;
}

static void assert_refused(const char *what)
{
    bool renewed = true;
    ck_assert_int_eq(tls_files_refresh(files, &renewed, &flaw), -1);
    ck_assert(renewed); /* untouched */
    assert_says(&flaw, what);
}

/* ---- what is loaded ---- */

FIXTURE(setup, teardown)

TEST(everything_and_nothing)
{
    options.server_name = "api.example";
    options.insecure = true;
    load();
    assert_in_use(ca, cert, key_pem);
    ck_assert_str_eq(tls_files_current(files)->server_name, "api.example");
    ck_assert(tls_files_current(files)->insecure);
    tls_files_free(files);
    options =
        (struct tls_files_options){.peer = "peer", .ca = {.name = "CA"}, .cert = {.name = "C"}, .key = {.name = "K"}};
    load();
    assert_in_use(NULL, NULL, NULL);
    ck_assert(!refresh());
    ck_assert(tls_files_ca_not_after_s(files) == INT64_MAX && tls_files_client_not_after_s(files) == INT64_MAX);
    tls_files_free(NULL);
    tls_files_follow(NULL, &log_to_file);
}

TEST(text_beats_a_path_and_is_never_read_again)
{
    options.ca.text = other_ca;
    options.cert.text = other_cert;
    options.key.text = other_key_pem;
    load();
    assert_in_use(other_ca, other_cert, other_key_pem);
    put(CA, "nonsense");
    unlink(paths[KEY]);
    ck_assert(!refresh());
    assert_in_use(other_ca, other_cert, other_key_pem);
}

TEST(a_certificate_and_its_key_in_one_file)
{
    cleanup(mem_free_ptr) char *both = mem_printf("%s%s", key_pem, cert);
    put(CERT, both);
    options.key.path = paths[CERT];
    load();
    assert_in_use(ca, both, both);
}

/* ---- what is broken: at start an error, later a reason to keep the old set ---- */

static void half_of(char *text)
{
    text[strlen(text) / 2] = '\0';
}

static const struct breakage {
    const char *what; /* the message has it */
    int which;
    enum { GONE, FOLDER, EMPTY, HTML, HALF, DAMAGED, SECOND_HALF, OTHER_KEY, LOCKED, HUGE, NUL, DANGLING } how;
} breakages[] = {
    {"THE_CA", CA, GONE},
    {"No such file", CA, GONE},
    {"not a regular file", CA, FOLDER},
    {"no PEM certificate", CA, EMPTY},
    {"ca.crt: no PEM certificate", CA, HTML},
    {"certificate 1 cannot be read", CA, HALF},
    {"certificate 1 cannot be read", CA, DAMAGED},
    {"certificate 2 cannot be read", CA, SECOND_HALF},
    {"NUL byte", CA, NUL},
    {"larger than 1024 KiB", CA, HUGE},
    {"No such file", CA, DANGLING},
    {"THE_CERT", CERT, GONE},
    {"THE_CERT", CERT, EMPTY},
    {"certificate 1 cannot be read", CERT, HALF},
    {"tls.crt: certificate 2 cannot be read", CERT, SECOND_HALF},
    {"tls.key: the private key does not belong", CERT, OTHER_KEY}, /* the certificate came first */
    {"THE_KEY", KEY, GONE},
    {"no PEM private key", KEY, EMPTY},
    {"no PEM private key", KEY, HALF},
    {"tls.key: the private key does not belong", KEY, OTHER_KEY},
    {"passphrase", KEY, LOCKED},
};

static void break_file(const struct breakage *b)
{
    const char *path = paths[b->which];
    const char *good = b->which == CA ? ca : b->which == CERT ? cert : key_pem;
    cleanup(mem_free_ptr) char *text = mem_printf("%s%s", good, b->how == SECOND_HALF ? good : "");
    unlink(path);
    switch (b->how) {
    case GONE:
        return;
    case FOLDER:
        ck_assert_int_eq(mkdir(path, 0700), 0);
        return;
    case DANGLING:
        ck_assert_int_eq(symlink("nowhere", path), 0);
        return;
    case EMPTY:
        put(b->which, "");
        return;
    case HTML:
        put(b->which, "<html>sign in</html>");
        return;
    case HALF:
        half_of(text);
        break;
    case SECOND_HALF:
        half_of(text + strlen(good));
        break;
    case DAMAGED:
        text[strlen(text) / 2] = '!';
        break;
    case OTHER_KEY:
        put(b->which, b->which == CERT ? other_cert : other_key_pem);
        return;
    case LOCKED:
        put(b->which, locked_pem);
        return;
    case HUGE:
        put(b->which, good);
        ck_assert_int_eq(truncate(path, (1 << 20) + 1), 0);
        return;
    case NUL:
        put(b->which, good);
        ck_assert_int_eq(truncate(path, (off_t)strlen(good) + 4), 0);
        return;
    }
    put(b->which, text);
}

TEST_EACH(a_broken_file_at_start_is_an_error, array_len(breakages))
{
    const struct breakage *b = &breakages[_i];
    break_file(b);
    ck_assert_ptr_null(tls_files_new(&options, &flaw));
    assert_says(&flaw, b->what);
    assert_says(&flaw, paths[b->how == OTHER_KEY ? KEY : b->which]);
}

/* Others change with it, and are not taken either: the set is one. */
TEST_EACH(a_broken_file_later_keeps_the_whole_old_set, array_len(breakages))
{
    const struct breakage *b = &breakages[_i];
    load();
    break_file(b);
    if (b->which != CA)
        put(CA, other_ca);
    for (int i = 0; i < 3; i++) {
        assert_refused(b->what);
        assert_in_use(ca, cert, key_pem);
    }
    if (b->how == FOLDER)
        rmdir(paths[b->which]);
    else
        unlink(paths[b->which]);
    put(CA, other_ca);
    put(CERT, other_cert);
    put(KEY, other_key_pem);
    ck_assert(refresh());
    assert_in_use(other_ca, other_cert, other_key_pem);
}

TEST(a_certificate_needs_its_key)
{
    options.key.path = NULL;
    ck_assert_ptr_null(tls_files_new(&options, &flaw));
    assert_says(&flaw, "THE_CERT is set and THE_KEY is not");
    options.cert.path = NULL;
    options.key.path = paths[KEY];
    ck_assert_ptr_null(tls_files_new(&options, &flaw));
    assert_says(&flaw, "THE_KEY is set and THE_CERT is not");
}

/* ---- what changes ---- */

TEST(nothing_changed)
{
    load();
    const char *before = tls_files_current(files)->key_pem;
    ck_assert(!refresh());
    put(KEY, key_pem); /* touched, the same inside */
    ck_assert(!refresh());
    ck_assert_ptr_eq(tls_files_current(files)->key_pem, before);
}

TEST(each_alone_and_all_together)
{
    load();
    put(CA, other_ca);
    ck_assert(refresh());
    assert_in_use(other_ca, cert, key_pem);
    put(CERT, other_cert); /* one after the other */
    assert_refused("does not belong");
    assert_in_use(other_ca, cert, key_pem);
    put(KEY, other_key_pem);
    ck_assert(refresh());
    assert_in_use(other_ca, other_cert, other_key_pem);
    put(KEY, key_pem); /* the other order */
    assert_refused("does not belong");
    put(CERT, cert);
    ck_assert(refresh());
    assert_in_use(other_ca, cert, key_pem);
    ck_assert(!refresh());
}

/* Taken back before it was used. */
TEST(a_broken_file_that_is_put_back)
{
    load();
    put(KEY, other_key_pem);
    assert_refused("does not belong");
    put(KEY, key_pem);
    ck_assert(!refresh());
    assert_in_use(ca, cert, key_pem);
}

/* As kubelet does it: tls.key -> ..data/tls.key, ..data -> a folder, and ..data alone is replaced. */
static void mount_version(const char *version, const char *cert_text, const char *key_text)
{
    cleanup(mem_free_ptr) char *at = in_folder(version), *data = in_folder("..data");
    cleanup(mem_free_ptr) char *fresh = in_folder("..data_tmp");
    cleanup(mem_free_ptr) char *cert_path = mem_printf("%s/tls.crt", at);
    cleanup(mem_free_ptr) char *key_path = mem_printf("%s/tls.key", at);
    ck_assert_int_eq(mkdir(at, 0700), 0);
    write_file_at(cert_path, cert_text, 1000000); /* the same time and size in every version */
    write_file_at(key_path, key_text, 1000000);
    ck_assert_int_eq(symlink(version, fresh), 0);
    ck_assert_int_eq(rename(fresh, data), 0);
}

TEST(a_secret_mount_swaps_its_symlink)
{
    unlink(paths[CERT]);
    unlink(paths[KEY]);
    mount_version("..1", cert, key_pem);
    ck_assert_int_eq(symlink("..data/tls.crt", paths[CERT]), 0);
    ck_assert_int_eq(symlink("..data/tls.key", paths[KEY]), 0);
    load();
    ck_assert(!refresh());
    mount_version("..2", other_cert, other_key_pem);
    ck_assert(refresh());
    assert_in_use(ca, other_cert, other_key_pem);
    mount_version("..3", other_cert, key_pem);
    assert_refused("does not belong");
    assert_in_use(ca, other_cert, other_key_pem);
}

/* A file that was written just now may be written again within the same tick of the clock, and look the same. */
TEST(a_fresh_file_is_not_trusted_by_its_time_and_size)
{
    load();
    time_t now = time(NULL);
    cleanup(mem_free_ptr) char *a = mem_printf("# a\n%s", ca), *b = mem_printf("# b\n%s", ca);
    write_file_at(paths[CA], a, now);
    ck_assert(refresh());
    write_file_at(paths[CA], b, now);
    ck_assert(refresh());
    assert_in_use(b, cert, key_pem);
}

/* What makes a check before each request cheap: nothing is read while its time and size are as before, be it in use or refused. */
TEST(a_file_that_looks_the_same_is_not_read_again)
{
    const time_t when = 2000000;
    cleanup(mem_free_ptr) char *good = mem_printf("# a\n%s", ca), *also_good = mem_printf("# b\n%s", ca);
    cleanup(mem_free_ptr) char *bad = mem_printf("# c\n%s", ca);
    bad[strlen(bad) / 2] = '!';
    put(CA, good);
    load();
    write_file_at(paths[CA], good, when); /* touched */
    ck_assert(!refresh());
    write_file_at(paths[CA], also_good, when);
    ck_assert(!refresh());
    write_file_at(paths[CA], bad, when + 1);
    assert_refused("cannot be read");
    write_file_at(paths[CA], also_good, when + 1);
    assert_refused("cannot be read");
    write_file_at(paths[CA], also_good, when + 2);
    ck_assert(refresh());
    assert_in_use(also_good, cert, key_pem);
}

/* Root reads everything, so the mode alone says nothing; what counts is that the time of a failure is not remembered. */
TEST(an_unreadable_file_is_tried_again_though_it_looks_the_same)
{
    load();
    cleanup(mem_free_ptr) char *aside = in_folder("aside");
    ck_assert_int_eq(rename(paths[CA], aside), 0);
    assert_refused("No such file");
    ck_assert_int_eq(rename(aside, paths[CA]), 0);
    ck_assert(!refresh());
}

TEST(a_pair_that_is_handed_in)
{
    load();
    ck_assert_int_eq(tls_files_set_pair(files, other_cert, key_pem, &flaw), -1);
    assert_says(&flaw, "does not belong");
    ck_assert_int_eq(tls_files_set_pair(files, other_cert, NULL, &flaw), -1);
    assert_in_use(ca, cert, key_pem);
    ck_assert_int_eq(tls_files_set_pair(files, other_cert, other_key_pem, &flaw), 0);
    assert_in_use(ca, other_cert, other_key_pem);
    put(CERT, "nonsense"); /* its files are not read any more */
    ck_assert(!refresh());
    put(CA, other_ca);
    ck_assert(refresh());
    assert_in_use(other_ca, other_cert, other_key_pem);
    ck_assert_int_eq(tls_files_set_pair(files, NULL, NULL, &flaw), 0);
    assert_in_use(other_ca, NULL, NULL);
    ck_assert(tls_files_client_not_after_s(files) == INT64_MAX);
}

/* What stood in the way of the new CA was a pair that is of no interest any more. */
TEST(a_pair_that_is_handed_in_ends_a_refusal)
{
    load();
    put(CA, other_ca);
    put(KEY, other_key_pem);
    assert_refused("does not belong");
    ck_assert_int_eq(tls_files_set_pair(files, other_cert, other_key_pem, &flaw), 0);
    assert_in_use(ca, other_cert, other_key_pem);
    ck_assert(refresh());
    assert_in_use(other_ca, other_cert, other_key_pem);
}

/* ---- when they end ---- */

static void assert_ends_in(int64_t not_after_s, int64_t seconds)
{
    int64_t left = not_after_s - (int64_t)(clock_wall_ms() / 1000);
    ck_assert_msg(left <= seconds && left > seconds - 120, "%lld s left, not %lld", (long long)left,
                  (long long)seconds);
}

TEST(when_certificates_end)
{
    cleanup(mem_free_ptr) char *bundle = mem_printf("# two\n%s%s", ca, other_ca);
    cleanup(mem_free_ptr) char *issuer = certs_cert_pem_for(other_key, 1000);
    cleanup(mem_free_ptr) char *chain = mem_printf("%s%s", cert, issuer);
    cleanup(mem_free_ptr) char *late = certs_cert_pem_for(key, 20L * 365 * 86400);
    put(CA, bundle);
    put(CERT, chain);
    load();
    assert_ends_in(tls_files_ca_not_after_s(files), 7200);     /* the soonest */
    assert_ends_in(tls_files_client_not_after_s(files), 3600); /* the first */
    put(CERT, late);
    ck_assert(refresh());
    assert_ends_in(tls_files_client_not_after_s(files), 20L * 365 * 86400);
}

TEST(an_expired_certificate_is_used_and_logged_once)
{
    cleanup(mem_free_ptr) char *old = certs_cert_pem_for(key, -5000), *old_ca = certs_cert_pem_for(key, -9000);
    put(CERT, old);
    load();
    assert_in_use(ca, old, key_pem);
    assert_ends_in(tls_files_client_not_after_s(files), -5000);
    for (int i = 0; i < 3; i++)
        tls_files_follow(files, &log_to_file);
    ck_assert_uint_eq(times_logged("TLS certificate expired"), 1);
    ck_assert_uint_eq(times_logged("certificate=THE_CERT"), 1);
    put(CERT, cert);
    put(CA, old_ca);
    tls_files_follow(files, &log_to_file);
    tls_files_follow(files, &log_to_file);
    ck_assert_uint_eq(times_logged("TLS certificate expired"), 2);
    ck_assert_uint_eq(times_logged("certificate=THE_CA"), 1);
}

/* ---- the log ---- */

TEST(what_the_log_says)
{
    load();
    tls_files_follow(files, &log_to_file);
    ck_assert_uint_eq(times_logged("level="), 0);
    put(KEY, other_key_pem);
    for (int i = 0; i < 5; i++)
        tls_files_follow(files, &log_to_file);
    ck_assert_uint_eq(times_logged("level=warn"), 1);
    ck_assert_uint_eq(times_logged("keeping the last ones"), 1);
    ck_assert_uint_eq(times_logged(paths[KEY]), 1);
    put(CERT, other_cert);
    for (int i = 0; i < 5; i++)
        tls_files_follow(files, &log_to_file);
    ck_assert_uint_eq(times_logged("TLS files renewed"), 1);
    assert_in_use(ca, other_cert, other_key_pem);
    put(KEY, key_pem); /* the same trouble again is logged at once */
    tls_files_follow(files, &log_to_file);
    ck_assert_uint_eq(times_logged("level=warn"), 2);
    ck_assert_uint_eq(times_logged("-----"), 0);
}
