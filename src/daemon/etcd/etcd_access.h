/* The etcd of ETCD_ENDPOINTS, as the settings say how to reach it: its client, and the files of its TLS and password followed. */
#pragma once

#include "daemon/daemon.h"

struct etcd_access;
struct etcd_client;
struct tls_files;

/* All of it borrowed; the password in settings is read again where its file changed. ERROR_INVALID: files that cannot be used. */
struct etcd_access *etcd_access_new(struct event_base *base, struct http *http, struct settings *settings,
                                    const struct log *log, struct error *err) must_check;
void etcd_access_free(struct etcd_access *a); /* NULL is allowed */
struct etcd_client *etcd_access_client(const struct etcd_access *a);
const struct tls_files *etcd_access_files(const struct etcd_access *a); /* NULL: no URL is https */

/* "PATH/manifest", "PATH/parts/": what lies below the path of the settings. Allocates. */
char *etcd_key(const struct settings *settings, const char *below, const char *name) must_check;
/* ETCD_NAME, or the host's. Allocates. */
char *etcd_own_name(const struct settings *settings) must_check;
