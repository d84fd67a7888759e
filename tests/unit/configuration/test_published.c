/* src/configuration/published: a configuration as it lies in etcd. */

#include "../certs.h"
#include "configuration/published.h"
#include "haproxy/cfg/content.h"

#define CFG "global\n\ndefaults\n  mode http\n\nfrontend f\n  bind :80\n"

static struct document *document_of(const char *text, struct storage_files *files)
{
    struct document *d = document_new(DOCUMENT_FOR_FILE, "test", text, strlen(text), NULL, files, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    return d;
}

static void add(struct storage_files *files, enum storage_kind kind, const char *name, const char *bytes)
{
    ck_assert_msg(storage_files_add(files, kind, name, bytes, strlen(bytes), &flaw) == 0, "%s", flaw.message);
}

/* All parts of one kind, one behind the other, as a consumer reads them. */
static void join(const struct publication *p, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        struct publication_part part = publication_part(p, i);
        ck_assert_uint_le(part.len, PUBLISHED_PART_MAX_BYTES);
        ck_assert_uint_gt(part.len, 0);
        ck_assert(published_is(part.bytes, part.len, part.hash));
        buf_addn(out, part.bytes, part.len);
    }
}

/* Its manifest, through JSON and back. */
static void go_round(struct publication *p, struct published_manifest *ret)
{
    cleanup(buf_fini) struct buf json = {0}, again = {0};
    p->manifest.version = 7;
    p->manifest.published_ms = 1764237600000;
    p->manifest.producer = mem_strdup("here");
    p->manifest.cluster = mem_strdup("east");
    published_manifest_print(&p->manifest, &json);
    ck_assert_msg(published_manifest_parse(json.data, json.len, ret, &flaw) == 0, "%s", flaw.message);
    ck_assert(published_manifest_same(&p->manifest, ret));
    published_manifest_print(ret, &again);
    ck_assert_str_eq(buf_str(&json), buf_str(&again));
}

TEST(what_is_published_comes_back)
{
    struct storage_files files = {0};
    add(&files, STORAGE_MAP, "hosts.map", "a b\n");
    add(&files, STORAGE_GENERAL, "503.http", "HTTP/1.0 503\r\n\r\n");
    add(&files, STORAGE_GENERAL, "empty", "");
    struct document *d = document_of(CFG, &files);
    cleanup(publication_fini) struct publication p = {0};
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    ck_assert_int_eq(publication_make(d, &p, &flaw), 0);
    go_round(&p, &m);
    ck_assert_uint_eq(m.version, 7);
    ck_assert_str_eq(m.producer, "here");
    ck_assert_str_eq(m.cluster, "east");
    ck_assert_int_eq(m.published_ms, 1764237600000);
    cleanup(buf_fini) struct buf text = {0}, bytes = {0};
    join(&p, 0, m.text.count, &text);
    join(&p, m.text.count, publication_part_count(&p), &bytes);
    ck_assert_str_eq(buf_str(&text), d->content->text);
    size_t len;
    ck_assert_str_eq(publication_plain(&p, &len), CFG);
    ck_assert_uint_eq(len, strlen(CFG));
    cleanup(storage_files_fini) struct storage_files back = {0};
    ck_assert_int_eq(published_files(&m, buf_str(&bytes), bytes.len, &back, &flaw), 0);
    char before[DIGEST_SHA256_HEX_BYTES], after[DIGEST_SHA256_HEX_BYTES];
    storage_files_hash(&d->files, before);
    storage_files_hash(&back, after);
    ck_assert_str_eq(before, after);
    document_unref(d);
}

TEST(a_changed_byte_is_seen)
{
    struct storage_files files = {0};
    add(&files, STORAGE_MAP, "hosts.map", "a b\n");
    struct document *d = document_of(CFG, &files);
    cleanup(publication_fini) struct publication p = {0};
    ck_assert_int_eq(publication_make(d, &p, &flaw), 0);
    static const char *const wrong[] = {"a c\n", "a b", "a b\n ", ""};
    for (size_t i = 0; i < array_len(wrong); i++) {
        cleanup(storage_files_fini) struct storage_files back = {0};
        ck_assert_int_eq(published_files(&p.manifest, wrong[i], strlen(wrong[i]), &back, &flaw), -1);
    }
    document_unref(d);
}

/* Of a configuration that is larger than one value the key itself has what HAProxy refuses. */
TEST(a_large_one_is_in_parts_alone)
{
    struct buf text = {0};
    buf_add(&text, CFG);
    while (text.len <= 2 * PUBLISHED_PART_MAX_BYTES)
        buf_add(&text, "# 0123456789012345678901234567890123456789012345678901234567890123456789\n");
    struct document *d = document_of(buf_str(&text), NULL);
    cleanup(publication_fini) struct publication p = {0};
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    ck_assert_int_eq(publication_make(d, &p, &flaw), 0);
    go_round(&p, &m);
    ck_assert_uint_eq(publication_part_count(&p), 3);
    size_t len;
    ck_assert_str_eq(publication_plain(&p, &len), PUBLISHED_TOO_LARGE);
    cleanup(buf_fini) struct buf joined = {0};
    join(&p, 0, 3, &joined);
    ck_assert(published_is(joined.data, joined.len, m.hash));
    ck_assert(published_manifest_names(&m, p.manifest.text.list[2]) && !published_manifest_names(&m, m.hash));
    document_unref(d);
    buf_fini(&text);
}

#define KEY "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"

TEST(a_private_key_is_never_published)
{
    struct storage_files files = {0};
    struct publication p;
    add(&files, STORAGE_GENERAL, "tls.txt", KEY);
    struct document *d = document_of(CFG, &files);
    ck_assert_int_eq(publication_make(d, &p, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "files/tls.txt has a private key"));
    document_unref(d);
    d = document_of(CFG "  # " KEY, NULL);
    ck_assert_int_eq(publication_make(d, &p, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "the configuration has a private key"));
    document_unref(d);
}

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NO_SUM "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "{\"format\":1,\"version\":1,\"time\":\"2026-11-27T10:00:00Z\","
#define TEXT "\"configuration\":{\"sha256\":\"" SUM "\",\"bytes\":1,\"parts\":[\"" SUM "\"]}"

static const struct {
    const char *json, *why;
} bad[] = {
    {"", "it is not JSON"},
    {"[]", "it"},
    {"{}", "\"format\" is 0"},
    {"{\"format\":2,\"version\":1}", "another haproxy-k8s-sync"},
    {"{\"format\":1,\"version\":1,\"time\":\"soon\"}", "\"version\" or \"time\""},
    {"{\"format\":1,\"time\":\"2026-11-27T10:00:00Z\"}", "version"},
    {HEAD "\"files\":[]}", "\"configuration\" is absent"},
    {HEAD "\"configuration\":{\"sha256\":\"x\"}}", "\"sha256\" is no sum"},
    {HEAD "\"configuration\":{\"sha256\":\"" SUM "\"}}", "\"bytes\" is absent"},
    {HEAD "\"configuration\":{\"sha256\":\"" NO_SUM "\",\"bytes\":0}}", "\"sha256\" is no sum"},
    {"{\"format\":1,\"version\":1,\"time\":\"1970-01-01T00:00:00Z\"}", "\"version\" or \"time\""},
    {HEAD "\"configuration\":{\"sha256\":\"" SUM "\",\"bytes\":1,\"parts\":[]}}", "\"parts\" has 0 entries"},
    {HEAD "\"configuration\":{\"sha256\":\"" SUM "\",\"bytes\":1,\"parts\":[\"../x\"]}}", "a part is no sum"},
    {HEAD "\"configuration\":{\"sha256\":\"" SUM "\",\"bytes\":1,\"parts\":[7]}}", "a part"},
    {HEAD TEXT ",\"files\":[{\"kind\":\"certs\",\"name\":\"a\",\"sha256\":\"" SUM "\",\"bytes\":0}]}", "\"kind\" of a"},
    {HEAD TEXT ",\"files\":[{\"kind\":\"maps\",\"name\":\"a\",\"sha256\":\"" SUM "\",\"bytes\":-1}]}", "bytes is -1"},
    {HEAD TEXT ",\"files\":[{\"kind\":\"maps\",\"name\":\"a\",\"sha256\":\"" SUM "\",\"bytes\":5}]}",
     "\"parts\" has 0"},
};

TEST_EACH(what_is_no_manifest, array_len(bad))
{
    struct published_manifest m;
    ck_assert_int_eq(published_manifest_parse(bad[_i].json, strlen(bad[_i].json), &m, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, bad[_i].why) != NULL, "%s: %s", bad[_i].json, flaw.message);
}

/* "NAME" of a map and "NAME" of a certificate. */
static void manifest_with(const char *file, char sum, const char *certificate, struct published_manifest *ret)
{
    char hash[] = SUM;
    hash[0] = sum;
    cleanup(mem_free_ptr) char *json =
        mem_printf(HEAD TEXT ",\"files\":[{\"kind\":\"maps\",\"name\":\"%s\",\"sha256\":\"%s\",\"bytes\":0}],"
                             "\"certificates\":[\"%s\"]}",
                   file, hash, certificate);
    ck_assert_msg(published_manifest_parse(json, strlen(json), ret, &flaw) == 0, "%s", flaw.message);
}

TEST(what_belongs_to_it_makes_it_another_one)
{
    cleanup(published_manifest_fini) struct published_manifest a = {0};
    static const struct {
        const char *file;
        char sum;
        const char *certificate;
        bool same;
    } others[] = {{"m", '0', "c", true}, {"n", '0', "c", false}, {"m", '1', "c", false}, {"m", '0', "d", false}};
    manifest_with("m", '0', "c", &a);
    ck_assert_str_eq(a.certificates[0], "c");
    for (size_t i = 0; i < array_len(others); i++) {
        cleanup(published_manifest_fini) struct published_manifest b = {0};
        manifest_with(others[i].file, others[i].sum, others[i].certificate, &b);
        ck_assert(published_manifest_same(&a, &b) == others[i].same);
    }
}

/* By name alone: its bytes, which have a key, lie on the load balancers. */
TEST(a_certificate_is_named)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cleanup(mem_free_ptr) char *cert = certs_cert_pem(key), *secret = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *pem = mem_printf("%s%s", cert, secret);
    struct storage_files files = {0};
    cleanup(publication_fini) struct publication p = {0};
    add(&files, STORAGE_CERTIFICATE, "a.pem", pem);
    struct document *d = document_of(CFG, &files);
    ck_assert_msg(publication_make(d, &p, &flaw) == 0, "%s", flaw.message);
    ck_assert_uint_eq(p.manifest.file_count + p.files.len, 0);
    ck_assert_uint_eq(p.manifest.certificate_count, 1);
    ck_assert_str_eq(p.manifest.certificates[0], "a.pem");
    document_unref(d);
    EVP_PKEY_free(key);
}

TEST(the_least_manifest)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    ck_assert_msg(published_manifest_parse(HEAD TEXT "}", strlen(HEAD TEXT "}"), &m, &flaw) == 0, "%s", flaw.message);
    ck_assert_uint_eq(m.file_count + m.certificate_count + m.files.count, 0);
    ck_assert_str_eq(m.cluster, "");
}
