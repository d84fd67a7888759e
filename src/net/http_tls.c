/* TLS of a request: libcurl with OpenSSL. */
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/http_internal.h"
#include "net/pem.h"
#include "net/spiffe_identity.h"

static void set_blob(CURL *easy, CURLoption option, const char *pem, unsigned flags)
{
    if (pem == NULL)
        return;
    struct curl_blob blob = {.data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = flags};
    curl_easy_setopt(easy, option, &blob);
}

/* libcurl has no option for the name that TLS verifies: that goes into the URL, and CONNECT_TO leads to the address. */
static int set_server_name(struct http_request *q, const char *server_name, struct error *err)
{
    CURLU *u = curl_url();
    char *host = NULL, *port = NULL, *given_port = NULL, *url = NULL;
    char *name = str_ip_family(server_name) == AF_INET6 ? mem_printf("[%s]", server_name) : mem_strdup(server_name);
    int status = -1;
    if (u != NULL && curl_url_set(u, CURLUPART_URL, q->url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_HOST, name, 0) == CURLUE_OK && curl_url_get(u, CURLUPART_URL, &url, 0) == CURLUE_OK) {
        char *rule = mem_printf("%s:%s:%s:%s", name, port, host, port);
        q->connect_to = curl_slist_append(NULL, rule);
        free(rule);
        curl_easy_setopt(q->easy, CURLOPT_CONNECT_TO, q->connect_to);
        curl_easy_setopt(q->easy, CURLOPT_URL, url);
        if (curl_url_get(u, CURLUPART_PORT, &given_port, 0) != CURLUE_OK)
            given_port = NULL;
        /* The Host header stays that of the URL, as with other clients of Kubernetes: the name is for TLS alone. */
        char *line = given_port != NULL ? mem_printf("Host: %s:%s", host, given_port) : mem_printf("Host: %s", host);
        q->headers = curl_slist_append(q->headers, line);
        free(line);
        status = 0;
    } else {
        error_set(err, ERROR_INVALID, "%s: TLS server name \"%s\" cannot be used", q->url, server_name);
    }
    free(name);
    curl_free(host);
    curl_free(port);
    curl_free(given_port);
    curl_free(url);
    curl_url_cleanup(u);
    return status;
}

void http_note_server_certificate(struct http_request *q)
{
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(q->easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL ||
        session->backend != CURLSSLBACKEND_OPENSSL || session->internals == NULL)
        return;
    const X509 *x = SSL_get0_peer_certificate(session->internals);
    if (x != NULL && q->server_not_after_s != NULL)
        *q->server_not_after_s = pem_certificate_not_after_s(x);
    if (x == NULL || q->spiffe.seen == NULL)
        return;
    cleanup(mem_free_ptr) char *id = spiffe_id_of_certificate(x, NULL);
    if (id != NULL)
        q->spiffe.seen(q->spiffe.arg, q->base_url, id);
}

/* ---- SPIFFE ---- */

static int verify_by_spiffe(X509_STORE_CTX *context, void *arg)
{
    struct http_request *q = arg;
    return spiffe_identity_verify(q->spiffe.identity, q->spiffe.peer_id, context, &q->peer_refused) == 0 ? 1 : 0;
}

/* The request is there as long as the handshake lasts, which is not made a second time. */
static CURLcode set_spiffe_verification(CURL *easy, void *context, void *arg)
{
    (void)easy;
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_cert_verify_callback(context, verify_by_spiffe, arg);
    return CURLE_OK;
}

void http_forget_tls(struct http_request *q)
{
    spiffe_identity_unref(q->spiffe.identity);
    q->spiffe = (struct http_spiffe){0};
}

/* With TLS 1.3 our handshake is over before the server has checked our certificate: what it says then is often lost,
 * and what libcurl says is what happened to stand behind it. */
const char *http_tls_hint(const struct http_request *q, CURLcode code)
{
    long connects = 0, header_bytes = 0;
    curl_easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(q->easy, CURLINFO_HEADER_SIZE, &header_bytes);
    bool ended = code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING;
    if (!ended || connects == 0 || header_bytes > 0 || !str_has_prefix(q->url, "https:"))
        return "";
    return q->key_pem != NULL ? " (the server ended a new TLS connection: it may not accept the client certificate)"
                              : " (the server ended a new TLS connection: it may want a client certificate)";
}

int http_set_tls(struct http_request *q, const struct http_tls *tls, struct error *err)
{
    static const struct http_tls none;
    if (tls == NULL)
        tls = &none;
    if (!str_has_prefix(q->url, "https:"))
        return 0;
    curl_easy_setopt(q->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(q->easy, CURLOPT_SSL_VERIFYPEER, tls->insecure ? 0L : 1L);
    curl_easy_setopt(q->easy, CURLOPT_SSL_VERIFYHOST, tls->insecure ? 0L : 2L);
    if (tls->spiffe != NULL) {
        const struct http_spiffe *spiffe = tls->spiffe;
        q->spiffe = *spiffe;
        q->spiffe.identity = spiffe_identity_ref(spiffe->identity);
        curl_easy_setopt(q->easy, CURLOPT_SSL_VERIFYHOST, 0L);
        curl_easy_setopt(q->easy, CURLOPT_SSL_CTX_FUNCTION, set_spiffe_verification);
        curl_easy_setopt(q->easy, CURLOPT_SSL_CTX_DATA, q);
    }
    /* A session that is taken up again is verified with the trust of then, and shows the certificate of then. What
     * it would save, a handshake, is made where a connection is lost only: they are kept. */
    curl_easy_setopt(q->easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (tls->ca_pem != NULL) {
        curl_easy_setopt(q->easy, CURLOPT_CAPATH, NULL);
        set_blob(q->easy, CURLOPT_CAINFO_BLOB, tls->ca_pem, CURL_BLOB_COPY);
    }
    set_blob(q->easy, CURLOPT_SSLCERT_BLOB, tls->cert_pem, CURL_BLOB_COPY);
    q->key_pem = mem_strdup(tls->key_pem);
    set_blob(q->easy, CURLOPT_SSLKEY_BLOB, q->key_pem, CURL_BLOB_NOCOPY);
    return tls->server_name != NULL ? set_server_name(q, tls->server_name, err) : 0;
}
