/*
 * The checks that both APIs have in common: name, connection, TLS and its certificates, each with the likely cause of
 * its failure and the fix. Pure.
 */
#ifndef CLI_DOCTOR_DOCTOR_CONNECTION_H
#define CLI_DOCTOR_DOCTOR_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "net/http.h"

struct doctor_section;

enum doctor_peer_kind { DOCTOR_PEER_KUBERNETES, DOCTOR_PEER_HAPROXY, DOCTOR_PEER_ETCD };

struct doctor_peer {
    enum doctor_peer_kind kind;
    const char *url;
    const char *unix_socket;          /* NULL: TCP */
    const char *proxy;                /* which setting asks for a proxy: "the kubeconfig's proxy-url"; NULL: none */
    const char *ca_setting;           /* the setting that names the trusted CA: "HAPROXY_DATAPLANE_CA_FILE" */
    const char *name_setting;         /* the setting that names the certificate's expected name; NULL: none */
    const char *cert_setting;         /* the settings of a client certificate, where there is none; NULL: there is */
    const char *refused_why;          /* why the connection is refused, in one sentence */
    const char *look;                 /* a command that shows it; NULL: none */
    bool spiffe;                      /* they are verified by SPIFFE ID and trust bundle */
    bool insecure;                    /* certificates are not verified */
    int64_t now_s;                    /* since the Unix epoch, as are those below; INT64_MAX: none */
    int64_t ca_s, client_s, server_s; /* when the certificates end */
};

/* error: why there was no answer; NULL: there was one. True: the request got an answer. */
bool doctor_connection_report(const struct doctor_peer *peer, const struct http_connection *c,
                              const struct error *error, struct doctor_section *s);

#endif
