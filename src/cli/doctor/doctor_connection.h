/*
 * The checks that all APIs have in common: name, connection, TLS and its certificates, each with the likely cause of its
 * failure and the fix; and clocks: how far this machine's is from a server's, by the answers' Date header (whole
 * seconds), and whether it is synchronised with a time server. Pure, but for the kernel's word on that.
 */
#pragma once

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
    const char *shown_by;             /* a command that shows it; NULL: none */
    bool spiffe;                      /* they are verified by SPIFFE ID and trust bundle */
    bool insecure;                    /* certificates are not verified */
    int64_t now_s;                    /* since the Unix epoch, as are those below; INT64_MAX: none */
    int64_t ca_s, client_s, server_s; /* when the certificates end */
};

/* error: why there was no answer; NULL: there was one. True: the request got an answer. */
bool doctor_connection_report(const struct doctor_peer *peer, const struct http_connection *c,
                              const struct error *error, struct doctor_section *s);

/* This machine's clock less the server's lies between these. */
struct doctor_skew {
    bool known;
    int64_t least_ms, most_ms;
};

/* date: the header, NULL: none. now_ms: this machine's clock when the answer came; took_us: how long that took. */
struct doctor_skew doctor_skew_of(const char *date, uint64_t now_ms, uint64_t took_us);
/* How far this machine's clock is ahead at least (behind: negative); 0: it may be right. */
int64_t doctor_skew_ms(const struct doctor_skew *k);
/* whose: for the text, a URL. */
void doctor_clock_report_skew(const char *id, const char *label, const char *whose, const struct doctor_skew *k,
                              struct doctor_section *s);

enum doctor_synchronised { DOCTOR_SYNC_UNKNOWN, DOCTOR_SYNC_YES, DOCTOR_SYNC_NO };
/* What the kernel says (adjtimex(2)). */
enum doctor_synchronised doctor_clock_synchronised(void);
void doctor_clock_report_kernel(enum doctor_synchronised is, struct doctor_section *s);
