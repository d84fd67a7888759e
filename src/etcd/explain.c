/* What went wrong with etcd, for people: with what to do about it where that is known. */
#include "base/str.h"
#include "etcd/client_internal.h"

static int explain_rights(const struct etcd_client *c, const struct etcd_refusal *r, const char *about,
                          struct error *err)
{
    const char *user = c->user != NULL ? c->user : "";
    switch (r->kind) {
    case ETCD_REFUSED_NO_USER:
        return error_set(err, ERROR_AUTH, "%s: etcd has authentication enabled; set ETCD_USER and ETCD_PASSWORD",
                         r->message);
    case ETCD_REFUSED_PASSWORD:
        return error_set(err, ERROR_AUTH,
                         "%s: there is no user \"%s\", or the password is another one; see ETCD_USER and ETCD_PASSWORD",
                         r->message, user);
    case ETCD_REFUSED_PERMISSION:
        return error_set(err, ERROR_AUTH,
                         "%s: user \"%s\" may not do this to %s; etcdctl role grant-permission allows it", r->message,
                         user, about != NULL ? about : "what was asked for");
    case ETCD_REFUSED_AUTH_OFF:
        return error_set(err, ERROR_AUTH, "%s", r->message);
    default:
        return error_set(err, ERROR_AUTH, "%s, though the token is new; do all endpoints belong to one cluster?",
                         r->message);
    }
}

void etcd_explain(const struct etcd_client *c, int status, const struct etcd_refusal *r, const char *about,
                  struct error *err)
{
    switch (r->kind) {
    case ETCD_REFUSED_TOKEN:
    case ETCD_REFUSED_AUTH_OFF:
    case ETCD_REFUSED_NO_USER:
    case ETCD_REFUSED_PASSWORD:
    case ETCD_REFUSED_PERMISSION:
        explain_rights(c, r, about, err);
        break;
    case ETCD_REFUSED_COMPACTED:
    case ETCD_REFUSED_NO_LEASE:
        error_set(err, ERROR_GONE, "%s", r->message);
        break;
    case ETCD_REFUSED_NO_SPACE:
        error_set(err, ERROR_RETRY, "%s: compact and defragment it, then etcdctl alarm disarm", r->message);
        break;
    case ETCD_REFUSED_GATEWAY:
        error_set(err, ERROR_RETRY,
                  "%s: etcd's gateway does not reach the server beside it; with --client-cert-auth it shows the "
                  "server's certificate there, which then has to be one for clients, too (clientAuth)",
                  r->message);
        break;
    case ETCD_REFUSED_NOT_NOW:
    case ETCD_REFUSED_UNSURE:
        error_set(err, ERROR_RETRY, "%s", r->message);
        break;
    case ETCD_REFUSED_UNKNOWN:
        error_set(err, ERROR_INVALID,
                  "status %d, which is not how etcd refuses; is this etcd 3.4 or newer with --enable-grpc-gateway? It "
                  "answered: %s",
                  status, r->message);
        break;
    case ETCD_REFUSED_TOO_LARGE:
        error_set(err, ERROR_INVALID, "%s: --max-request-bytes of etcd is the limit", r->message);
        break;
    case ETCD_REFUSED_OTHERWISE:
        error_set(err, ERROR_INVALID, "%s", r->message);
        break;
    }
    err->http_status = status;
}

void etcd_explain_transport(const struct http_endpoint *e, const struct http_response *r, struct error *err)
{
    struct http_connection connection = http_response_connection(r);
    bool tls = str_has_prefix(e->base_url, "https:"), has_cert = e->tls != NULL && e->tls->cert_pem != NULL;
    struct error why = *err;
    if (connection.verify != 0)
        error_set(err, why.kind, "%s; ETCD_CA_FILE names the CA of its certificate", why.message);
    else if (tls && !has_cert && connection.reached >= HTTP_REACHED_PEER && why.kind == ERROR_RETRY && r->status == 0)
        error_set(err, why.kind, "%s; where etcd asks for a client certificate, ETCD_CERT_FILE names it", why.message);
}
