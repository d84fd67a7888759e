/*
 * The checks that both APIs have in common: name, connection, TLS and its certificates, each with the likely cause of
 * its failure and the cure. Pure.
 */
#ifndef CLI_DOCTOR_DOCTOR_CONNECTION_H
#define CLI_DOCTOR_DOCTOR_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "net/http.h"

struct doctor_section;

enum doctor_peer_kind { DOCTOR_PEER_KUBERNETES, DOCTOR_PEER_HAPROXY };

struct doctor_peer {
    enum doctor_peer_kind kind;
    const char *url;
    const char *unix_socket;  /* NULL: TCP */
    const char *proxy;        /* who says that a proxy is to be used: "the kubeconfig's proxy-url"; NULL: nobody */
    const char *ca_setting;   /* what says which CA is believed: "HAPROXY_DATAPLANE_CA_FILE" */
    const char *name_setting; /* what says which name the certificate has to be for */
    const char *nobody_there; /* what to look at where the connection is refused, in one sentence */
    const char *look;         /* a command that shows it; NULL: none */
    bool insecure;            /* certificates are not verified */
    int64_t now_s;            /* since the Unix epoch, as are those below; INT64_MAX: none */
    int64_t ca_s, client_s, server_s; /* when the certificates end */
};

/* error: why there was no answer; NULL: there was one. True where a request got through. */
bool doctor_connection_report(const struct doctor_peer *peer, const struct http_connection *c,
                              const struct error *error, struct doctor_section *s);

#endif
