#include "net/spiffe_identity.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/mem.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "settings/names.h"
#include "net/pem.h"

#define CERTIFICATES_MAX 1000 /* of a chain or a bundle */
#define DOMAINS_MAX 1000

/* X509SVIDResponse, X509SVID and an entry of a map, by their field numbers. */
enum { RESPONSE_SVIDS = 1, RESPONSE_FEDERATED = 3 };
enum { SVID_ID = 1, SVID_CHAIN = 2, SVID_KEY = 3, SVID_BUNDLE = 4 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

struct spiffe_bundle {
    char *domain; /* "spiffe://example.org" */
    STACK_OF(X509) * certificates;
};

/* What the SVID of a message is made of, in it. */
struct svid {
    struct protobuf_field id, chain, key, bundle;
};

/* What is not there is as if it were empty. */
static const struct protobuf_field absent = {.data = (const uint8_t *)""};

static void stack_free_ptr(STACK_OF(X509) * *s)
{
    sk_X509_pop_free(*s, X509_free);
}

/* For cleanup(): what_free_ptr. */
#define FREE_PTR(what, pointer, free_it)                \
    static void what##_free_ptr(__typeof__(pointer) *p) \
    {                                                   \
        free_it(*p);                                    \
    }
FREE_PTR(pkcs8, PKCS8_PRIV_KEY_INFO *, PKCS8_PRIV_KEY_INFO_free)
FREE_PTR(pkey, EVP_PKEY *, EVP_PKEY_free)
FREE_PTR(bio, BIO *, BIO_free)
FREE_PTR(names, GENERAL_NAMES *, GENERAL_NAMES_free)

/* ---- DER and PEM ---- */

/* Certificates one after the other. */
static STACK_OF(X509) * read_certificates(const struct protobuf_field *f, const char *what, struct error *err)
{
    cleanup(stack_free_ptr) STACK_OF(X509) *list = sk_X509_new_null();
    const unsigned char *at = f->data, *end = at + f->len;
    while (list != NULL && at != end) {
        ERR_clear_error();
        X509 *x = d2i_X509(NULL, &at, end - at);
        if (x == NULL || sk_X509_num(list) >= CERTIFICATES_MAX || sk_X509_push(list, x) <= 0) {
            X509_free(x);
            error_set(err, ERROR_INVALID, "%s: certificate %d cannot be read: no DER, or more than %d", what,
                      sk_X509_num(list) + 1, CERTIFICATES_MAX);
            return NULL;
        }
    }
    if (list == NULL || sk_X509_num(list) == 0) {
        error_set(err, ERROR_INVALID, "%s: no certificate in it", what);
        return NULL;
    }
    STACK_OF(X509) *ret = list;
    list = NULL;
    return ret;
}

static char *take_text(BIO *out)
{
    char *at = NULL;
    long len = BIO_get_mem_data(out, &at);
    return mem_strndup(at, len > 0 ? (size_t)len : 0);
}

static void write_certificates(BIO *out, STACK_OF(X509) * list)
{
    for (int n = 0; n < sk_X509_num(list); n++)
        if (PEM_write_bio_X509(out, sk_X509_value(list, n)) != 1)
            abort(); /* out of memory */
}

/* ---- the message ---- */

static int read_svid(const struct protobuf *outer, const struct protobuf_field *f, struct svid *ret, struct error *err)
{
    struct protobuf p;
    struct protobuf_field field;
    int status;
    *ret = (struct svid){.id = absent, .chain = absent, .key = absent, .bundle = absent};
    if (protobuf_enter(outer, f, "svids", &p, err) != 0)
        return -1;
    while ((status = protobuf_next(&p, &field, err)) > 0) {
        struct protobuf_field *to = field.number == SVID_ID       ? &ret->id
                                    : field.number == SVID_CHAIN  ? &ret->chain
                                    : field.number == SVID_KEY    ? &ret->key
                                    : field.number == SVID_BUNDLE ? &ret->bundle
                                                                  : NULL;
        if (to == NULL)
            continue;
        size_t max = field.number == SVID_ID ? SPIFFE_ID_MAX_BYTES : INT32_MAX;
        if (protobuf_expect(&field, PROTOBUF_BYTES, max, "a field of X509SVID", err) != 0)
            return -1;
        *to = field;
    }
    return status;
}

/* The domain is taken; NULL: it is set later. */
static struct spiffe_bundle *add_bundle(struct spiffe_identity *i, char *domain)
{
    i->bundles = mem_resize(i->bundles, i->bundle_count + 1, sizeof(i->bundles[0]));
    struct spiffe_bundle *b = &i->bundles[i->bundle_count++];
    *b = (struct spiffe_bundle){.domain = domain};
    return b;
}

static char *read_id(const struct protobuf_field *f, const char *what, struct error *err)
{
    char *id = mem_strndup((const char *)f->data, f->len); /* up to a NUL, which leaves what is none */
    const char *problem = strlen(id) == f->len ? spiffe_id_problem(id) : "it holds a NUL byte";
    if (problem == NULL)
        return id;
    error_set(err, ERROR_INVALID, "%s \"%s\" is no SPIFFE ID: %s", what, id, problem);
    free(id);
    return NULL;
}

/* An entry of federated_bundles: the trust domain's ID, and its certificates. */
static int read_federated(const struct protobuf *outer, const struct protobuf_field *f, struct spiffe_identity *i,
                          struct error *err)
{
    struct protobuf p;
    struct protobuf_field field, key = absent, value = absent;
    int status;
    if (protobuf_enter(outer, f, "federated_bundles", &p, err) != 0)
        return -1;
    while ((status = protobuf_next(&p, &field, err)) > 0) {
        if (field.number != ENTRY_KEY && field.number != ENTRY_VALUE)
            continue;
        size_t max = field.number == ENTRY_KEY ? SPIFFE_ID_MAX_BYTES : INT32_MAX;
        if (protobuf_expect(&field, PROTOBUF_BYTES, max, "a field of federated_bundles", err) != 0)
            return -1;
        *(field.number == ENTRY_KEY ? &key : &value) = field;
    }
    if (status != 0)
        return -1;
    cleanup(mem_free_ptr) char *id = read_id(&key, "the trust domain of a federated bundle", err);
    if (id == NULL)
        return -1;
    if (i->bundle_count > DOMAINS_MAX)
        return error_set(err, ERROR_INVALID, "more than %d federated bundles", DOMAINS_MAX);
    struct spiffe_bundle *b = add_bundle(i, mem_strndup(id, spiffe_id_domain_len(id)));
    b->certificates = read_certificates(&value, id, err);
    return b->certificates != NULL ? 0 : -1;
}

/* ---- an identity ---- */

static int use_svid(struct spiffe_identity *i, const struct svid *svid, struct error *err)
{
    i->id = read_id(&svid->id, "the SVID's", err);
    if (i->id == NULL)
        return -1;
    cleanup(stack_free_ptr) STACK_OF(X509) *chain = read_certificates(&svid->chain, "its X.509 SVID", err);
    const unsigned char *at = svid->key.data;
    cleanup(pkcs8_free_ptr) PKCS8_PRIV_KEY_INFO *info =
        chain != NULL ? d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)svid->key.len) : NULL;
    bool whole = info != NULL && at == svid->key.data + svid->key.len;
    cleanup(pkey_free_ptr) EVP_PKEY *key = whole ? EVP_PKCS82PKEY(info) : NULL;
    ERR_clear_error();
    if (chain != NULL && key == NULL)
        error_set(err, ERROR_INVALID, "its private key cannot be read: no PKCS#8 in DER form");
    i->bundles[0].domain = mem_strndup(i->id, spiffe_id_domain_len(i->id));
    if (key != NULL)
        i->bundles[0].certificates = read_certificates(&svid->bundle, "its trust bundle", err);
    if (i->bundles[0].certificates == NULL)
        return error_prefix(err, "%s", i->id);
    cleanup(bio_free_ptr) BIO *certs = BIO_new(BIO_s_mem()), *keys = BIO_new(BIO_s_secmem());
    write_certificates(certs, chain);
    i->cert_pem = take_text(certs);
    if (PEM_write_bio_PKCS8PrivateKey(keys, key, NULL, NULL, 0, NULL, NULL) != 1)
        return error_set(err, ERROR_INVALID, "%s: its private key cannot be written", i->id);
    i->key_pem = take_text(keys);
    i->not_after_s = pem_not_after_s(i->cert_pem, false);
    /* Whether it is what the Workload API says that it is, and can be used. */
    X509 *leaf = sk_X509_value(chain, 0);
    cleanup(mem_free_ptr) char *id = spiffe_id_of_certificate(leaf, err);
    if (id == NULL)
        return error_prefix(err, "the X.509 SVID %s", i->id);
    if (!str_eq(id, i->id))
        return error_set(err, ERROR_INVALID, "the X.509 SVID is that of %s in place of %s", id, i->id);
    struct error why;
    if (pem_check_key(i->key_pem, i->cert_pem, &why) != 0)
        return error_set(err, ERROR_INVALID, "the X.509 SVID %s: %s", i->id, why.message);
    return 0;
}

static int read_response(struct spiffe_identity *i, const char *message, size_t len, struct error *err)
{
    struct protobuf p;
    struct protobuf_field f;
    struct svid svid;
    bool found = false;
    int status;
    protobuf_init(&p, message, len);
    (void)add_bundle(i, NULL);
    while ((status = protobuf_next(&p, &f, err)) > 0) {
        if (f.number == RESPONSE_SVIDS && !found) {
            found = true;
            if (read_svid(&p, &f, &svid, err) != 0)
                return -1;
        } else if (f.number == RESPONSE_FEDERATED && read_federated(&p, &f, i, err) != 0) {
            return -1;
        }
    }
    if (status != 0)
        return -1;
    if (!found)
        return error_set(err, ERROR_INVALID, "no SVID in it");
    return use_svid(i, &svid, err);
}

struct spiffe_identity *spiffe_identity_parse(const char *message, size_t len, struct error *err)
{
    struct spiffe_identity *i = mem_alloc(sizeof(*i));
    i->references = 1;
    if (read_response(i, message, len, err) != 0) {
        spiffe_identity_unref(i);
        error_prefix(err, "the SPIFFE Workload API's answer cannot be used");
        return NULL;
    }
    cleanup(bio_free_ptr) BIO *out = BIO_new(BIO_s_mem());
    for (size_t n = 0; n < i->bundle_count; n++) {
        BIO_printf(out, "# %s\n", i->bundles[n].domain);
        write_certificates(out, i->bundles[n].certificates);
    }
    i->bundles_pem = take_text(out);
    return i;
}

struct spiffe_identity *spiffe_identity_ref(struct spiffe_identity *i)
{
    i->references++;
    return i;
}

void spiffe_identity_unref(struct spiffe_identity *i)
{
    if (i == NULL || --i->references > 0)
        return;
    for (size_t n = 0; n < i->bundle_count; n++) {
        free(i->bundles[n].domain);
        sk_X509_pop_free(i->bundles[n].certificates, X509_free);
    }
    mem_free_all(i->bundles, i->id, i->cert_pem);
    mem_wipe_free(i->key_pem);
    mem_free_all(i->bundles_pem, i);
}

bool spiffe_identity_same(const struct spiffe_identity *a, const struct spiffe_identity *b)
{
    return str_eq(a->cert_pem, b->cert_pem) && str_eq(a->key_pem, b->key_pem) && str_eq(a->bundles_pem, b->bundles_pem);
}

/* ---- a server ---- */

char *spiffe_id_of_certificate(const X509 *x, struct error *err)
{
    cleanup(names_free_ptr) GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    const ASN1_IA5STRING *uri = NULL;
    unsigned uris = 0;
    for (int n = 0; n < sk_GENERAL_NAME_num(names); n++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, n);
        uris += name->type == GEN_URI;
        if (name->type == GEN_URI)
            uri = name->d.uniformResourceIdentifier;
    }
    if (uris != 1) {
        error_set(err, ERROR_INVALID,
                  "its certificate has %u URIs as subject alternative names: expected one, its SPIFFE ID", uris);
        return NULL;
    }
    const struct protobuf_field text = {.data = ASN1_STRING_get0_data(uri), .len = (size_t)ASN1_STRING_length(uri)};
    return read_id(&text, "the URI in its certificate", err);
}

static const struct spiffe_bundle *bundle_of(const struct spiffe_identity *i, const char *id)
{
    size_t len = spiffe_id_domain_len(id);
    for (size_t n = 0; n < i->bundle_count; n++)
        if (strlen(i->bundles[n].domain) == len && strncmp(i->bundles[n].domain, id, len) == 0)
            return &i->bundles[n];
    return NULL;
}

/* The one to verify that ID by, where it may be the server's at all; NULL: *err says why not. */
static const struct spiffe_bundle *bundle_for(const struct spiffe_identity *i, const char *peer_id, const char *id,
                                              struct error *err)
{
    const struct spiffe_bundle *b = bundle_of(i, id);
    if (peer_id != NULL && !str_eq(id, peer_id)) {
        error_set(err, ERROR_INVALID, "its SPIFFE ID is %s: expected %s (SPIFFE_PEER_ID)", id, peer_id);
        return NULL;
    }
    if (peer_id == NULL && b != &i->bundles[0]) {
        error_set(
            err, ERROR_INVALID,
            "its SPIFFE ID is %s: expected one of the daemon's own trust domain, %s; if it is the Data Plane API, set "
            "SPIFFE_PEER_ID=%s",
            id, i->bundles[0].domain, id);
        return NULL;
    }
    if (b == NULL)
        error_set(err, ERROR_INVALID,
                  "its SPIFFE ID is %s, and the SPIFFE Workload API has no trust bundle of that trust domain: federate "
                  "it, and name it in the daemon's registration entry (federatesWith)",
                  id);
    return b;
}

int spiffe_identity_verify(const struct spiffe_identity *i, const char *peer_id, X509_STORE_CTX *context,
                           struct error *err)
{
    X509 *leaf = X509_STORE_CTX_get0_cert(context);
    X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
    cleanup(mem_free_ptr) char *id = leaf != NULL ? spiffe_id_of_certificate(leaf, err) : NULL;
    if (id == NULL)
        return -1;
    /* What an X.509 SVID may not be (sections 4.1 to 4.3). */
    uint32_t flags = X509_get_extension_flags(leaf),
             usage = X509_get_key_usage(leaf); /* all ones where there is none */
    if ((flags & EXFLAG_CA) != 0)
        return error_set(err, ERROR_INVALID, "its certificate is that of a CA: expected that of a workload");
    if ((flags & EXFLAG_KUSAGE) != 0 && (usage & (KU_KEY_CERT_SIGN | KU_CRL_SIGN)) != 0)
        return error_set(err, ERROR_INVALID, "its certificate's key may sign others: expected that of a workload");
    const struct spiffe_bundle *b = bundle_for(i, peer_id, id, err);
    if (b == NULL)
        return -1;
    X509_STORE_CTX_set_error(context, X509_V_OK);
    X509_STORE_CTX_set0_trusted_stack(context, b->certificates);
    X509_STORE_CTX_set_flags(context, X509_V_FLAG_PARTIAL_CHAIN); /* a bundle may hold an intermediate CA */
    if (X509_verify_cert(context) == 1)
        return 0;
    return error_set(err, ERROR_INVALID, "the certificate of %s is not trusted by the bundle of %s: %s", id, b->domain,
                     X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
}
