#include "net/spiffe_identity.h"

#include <openssl/x509_vfy.h>
#include <time.h>

#include "../svids.h"

#define PLANE DOMAIN "/plane"
#define FOREIGN "spiffe://elsewhere.test"

static struct spiffe_identity *parse(const struct buf *message, struct error *err)
{
    *err = (struct error){0};
    return spiffe_identity_parse(buf_str(message), message->len, err);
}

static struct spiffe_identity *identity(bool federated)
{
    const struct kind ours = {.by = &ca, .names = "URI:" OURS};
    cleanup(buf_fini) struct buf message = {0};
    X509 *x = leaf(&ours);
    add_svid(&message, OURS, x, leaf_key, ca.x);
    if (federated)
        add_federated(&message, FOREIGN, other.x);
    struct spiffe_identity *i = parse(&message, &flaw);
    ck_assert_msg(i != NULL, "%s", flaw.message);
    X509_free(x);
    return i;
}

FIXTURE(svids_setup, svids_teardown)

TEST(identity_of_a_message)
{
    struct spiffe_identity *i = identity(true), *same = spiffe_identity_ref(i);
    ck_assert_str_eq(i->id, OURS);
    int64_t left = i->not_after_s - (int64_t)time(NULL);
    ck_assert_msg(left > AN_HOUR_S - 60 && left <= AN_HOUR_S, "%lld", (long long)left);
    ck_assert_ptr_nonnull(strstr(i->cert_pem, "BEGIN CERTIFICATE"));
    ck_assert_ptr_nonnull(strstr(i->key_pem, "BEGIN PRIVATE KEY"));
    ck_assert_ptr_nonnull(strstr(i->bundles_pem, FOREIGN));
    ck_assert(spiffe_identity_same(i, same));
    spiffe_identity_unref(same);
    spiffe_identity_unref(i);
}

/* The same SVID with another bundle, and another one with the same, are others. */
TEST(what_changed)
{
    const struct kind ours = {.by = &ca, .names = "URI:" OURS};
    cleanup(buf_fini) struct buf message = {0};
    X509 *x = leaf(&ours), *y = leaf(&ours);
    add_svid(&message, OURS, x, leaf_key, ca.x);
    struct spiffe_identity *i = parse(&message, &flaw), *again = parse(&message, &flaw);
    add_federated(&message, FOREIGN, other.x);
    struct spiffe_identity *bundle = parse(&message, &flaw);
    buf_clear(&message);
    add_svid(&message, OURS, y, leaf_key, ca.x);
    struct spiffe_identity *svid = parse(&message, &flaw);
    ck_assert(spiffe_identity_same(i, again));
    ck_assert(!spiffe_identity_same(i, bundle));
    ck_assert(!spiffe_identity_same(i, svid));
    spiffe_identity_unref(i);
    spiffe_identity_unref(again);
    spiffe_identity_unref(bundle);
    spiffe_identity_unref(svid);
    X509_free(x);
    X509_free(y);
}

/* The first one is the default. */
TEST(first_of_several)
{
    const struct kind first = {.by = &ca, .names = "URI:" OURS}, second = {.by = &other, .names = "URI:" FOREIGN "/us"};
    cleanup(buf_fini) struct buf message = {0};
    X509 *a = leaf(&first), *b = leaf(&second);
    add_svid(&message, OURS, a, leaf_key, ca.x);
    add_svid(&message, FOREIGN "/us", b, leaf_key, other.x);
    struct spiffe_identity *i = parse(&message, &flaw);
    ck_assert_msg(i != NULL, "%s", flaw.message);
    ck_assert_str_eq(i->id, OURS);
    spiffe_identity_unref(i);
    X509_free(a);
    X509_free(b);
}

static void assert_refused(const struct buf *message, const char *saying)
{
    struct spiffe_identity *i = parse(message, &flaw);
    ck_assert_msg(i == NULL, "no error: %s", saying);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, saying) != NULL, "%s: %s", saying, flaw.message);
}

TEST(what_is_no_identity)
{
    const struct kind ours = {.by = &ca, .names = "URI:" OURS}, nobody = {.by = &ca, .names = "DNS:example.test"};
    X509 *x = leaf(&ours), *y = leaf(&nobody);
    cleanup(buf_fini) struct buf message = {0};
    assert_refused(&message, "no SVID in it");
    add_svid(&message, OURS, x, ca.key, ca.x);
    assert_refused(&message, "private key does not belong");
    buf_clear(&message);
    add_svid(&message, PLANE, x, leaf_key, ca.x);
    assert_refused(&message, "is that of " OURS " in place of " PLANE);
    buf_clear(&message);
    add_svid(&message, OURS, y, leaf_key, ca.x);
    assert_refused(&message, "has 0 URIs");
    buf_clear(&message);
    add_svid(&message, OURS, x, leaf_key, ca.x);
    add_federated(&message, "elsewhere.test", other.x);
    assert_refused(&message, "\"elsewhere.test\" is no SPIFFE ID");
    buf_clear(&message);
    add_svid(&message, OURS, x, leaf_key, ca.x);
    for (size_t len = 1; len < message.len; len += 7) {
        struct error err = {0};
        struct spiffe_identity *i = spiffe_identity_parse(message.data, len, &err);
        ck_assert_msg(i == NULL && err.message[0] != '\0', "cut at %zu", len);
    }
    X509_free(x);
    X509_free(y);
}

#define PURPOSE "serverAuth,clientAuth"
static const struct {
    const char *peer_id; /* SPIFFE_PEER_ID */
    bool federated, of_other;
    struct kind kind;   /* without `by` */
    const char *saying; /* NULL: trusted */
} servers[] = {
    {PLANE, false, false, {.names = "URI:" PLANE, .usage = "digitalSignature", .purpose = PURPOSE}, NULL},
    {NULL, false, false, {.names = "URI:" PLANE}, NULL},
    {NULL, false, false, {.names = "URI:" OURS ",DNS:a"}, NULL},
    {PLANE, false, false, {.names = "URI:" OURS}, "its SPIFFE ID is " OURS ": expected " PLANE " (SPIFFE_PEER_ID)"},
    {PLANE, false, false, {.names = "URI:" PLANE "/x"}, "expected " PLANE},
    {PLANE, false, true, {.names = "URI:" PLANE}, "is not trusted by the bundle of " DOMAIN},
    {PLANE, true, true, {.names = "URI:" PLANE}, "is not trusted by the bundle of " DOMAIN},
    {FOREIGN "/p", true, true, {.names = "URI:" FOREIGN "/p"}, NULL},
    {FOREIGN "/p", true, false, {.names = "URI:" FOREIGN "/p"}, "is not trusted by the bundle of " FOREIGN},
    {FOREIGN "/p", false, true, {.names = "URI:" FOREIGN "/p"}, "no trust bundle of that trust domain"},
    {NULL, true, true, {.names = "URI:" FOREIGN "/p"}, "expected one of the daemon's own trust domain, " DOMAIN},
    {NULL, false, false, {.names = "URI:" DOMAIN "x/p"}, "expected one of the daemon's own trust domain"},
    {NULL, false, false, {.names = "URI:spiffe://example.tes/p"}, "expected one of the daemon's own trust domain"},
    {PLANE, false, false, {.names = NULL}, "has 0 URIs"},
    {PLANE, false, false, {.names = "DNS:plane"}, "has 0 URIs"},
    {PLANE, false, false, {.names = "URI:" PLANE ",URI:" OURS}, "has 2 URIs"},
    {PLANE, false, false, {.names = "URI:https://example.test/plane"}, "is no SPIFFE ID"},
    {PLANE, false, false, {.names = "URI:" PLANE, .constraints = "critical,CA:TRUE"}, "is that of a CA"},
    {PLANE, false, false, {.names = "URI:" PLANE, .usage = "digitalSignature,keyCertSign"}, "may sign others"},
    {PLANE, false, false, {.names = "URI:" PLANE, .usage = "digitalSignature,cRLSign"}, "may sign others"},
    {PLANE, false, false, {.names = "URI:" PLANE, .purpose = "clientAuth"}, "purpose"},
    {PLANE, false, false, {.names = "URI:" PLANE, .seconds = -60}, "expired"},
};

TEST_EACH(server, array_len(servers))
{
    struct kind kind = servers[_i].kind;
    kind.by = servers[_i].of_other ? &other : &ca;
    struct spiffe_identity *i = identity(servers[_i].federated);
    X509 *x = leaf(&kind);
    X509_STORE *empty = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    ck_assert_int_eq(X509_STORE_CTX_init(context, empty, x, NULL), 1);
    X509_STORE_CTX_set_default(context, "ssl_server"); /* as libssl does in a client */
    int status = spiffe_identity_verify(i, servers[_i].peer_id, context, &flaw);
    const char *saying = servers[_i].saying;
    ck_assert_msg(status == (saying != NULL ? -1 : 0), "%s", flaw.message);
    ck_assert_msg(saying == NULL || strstr(flaw.message, saying) != NULL, "%s: %s", saying, flaw.message);
    ck_assert_int_eq(X509_STORE_CTX_get_error(context) == X509_V_OK, saying == NULL);
    X509_STORE_CTX_free(context);
    X509_STORE_free(empty);
    X509_free(x);
    spiffe_identity_unref(i);
}
