/* Shared by doctor_etcd.c, which asks, and doctor_etcd_report.c, which judges, only. */
#ifndef CLI_DOCTOR_DOCTOR_ETCD_MEMBERS_H
#define CLI_DOCTOR_DOCTOR_ETCD_MEMBERS_H

#include "cli/doctor/doctor_etcd.h"

/* What came of GET /version. */
struct doctor_etcd_member {
    struct doctor_etcd *of;
    struct http_endpoint endpoint; /* its URL is that of the settings */
    int64_t server_not_after_s;
    struct http_request *request;
    struct http_connection connection;
    int status;         /* 0: no answer */
    struct error error; /* kind NONE: version is there */
    char *version;
};

#endif
