/*
 * The TLS Secrets that annotations name (ssl-certificate: secret:NAME), each watched by its name for as long as a port that
 * could be served names it. A composition begins, uses those that it meets, and ends; what none of them is read yet by then is
 * asked by service_secrets_settled.
 *
 * Each namespace whose Services name them has a budget of its own. Those that are missing take nothing of it: some of them are
 * watched, the others are read again from time to time. While one cannot be read, its certificate of before is used, where HAProxy's
 * files are on this machine.
 */
#pragma once

#include "daemon/daemon.h"

#define SERVICE_SECRETS_MAX 200        /* that exist, of one namespace */
#define SERVICE_SECRETS_MISSING_MAX 20 /* that do not, and are watched at once */

struct service_secrets;
struct services_plan;
struct storage_known;

/* known: NULL: certificates are parsed each time. changed: one of them is another one, or has been read; from the loop. */
struct service_secrets *service_secrets_new(const struct daemon *in, struct storage_known *known,
                                            void (*changed)(void *arg), void *arg) must_check;
void service_secrets_free(struct service_secrets *s); /* NULL is allowed */
void service_secrets_stop(struct service_secrets *s);
void service_secrets_poke(struct service_secrets *s);

void service_secrets_begin(struct service_secrets *s);
/* Whether that Secret, "namespace/name", can be used, else why it cannot. namespace: whose Service names it. */
bool service_secrets_use(struct service_secrets *s, const char *name, const char *namespace, struct buf *why);
/* Watches those that are new, and no more those that were not used. No call from inside libcurl's. */
void service_secrets_end(struct service_secrets *s);
/* False: one of them has not been asked for long enough to say that it cannot be read. Before it was true once there has to be an answer. */
bool service_secrets_settled(struct service_secrets *s);

/* Of what the Secret "namespace/name" has; the same as long as that is the same. */
uint64_t service_secrets_hash(const struct service_secrets *s, const char *name);
/* A Service that names it was accepted, and is another one now: it is kept as it was when service_secrets_forget_past was called last, if it
 * has changed since, for as long as each composition holds it. */
void service_secrets_keep(struct service_secrets *s, const char *name);
void service_secrets_forget_past(struct service_secrets *s);
void service_secrets_hold(struct service_secrets *s, const char *name);
/* In this composition a Service that is served as it is names it; after all of these: one that is served as it was before, own: of the
 * Secret's namespace. It is shown as it is kept for the latter, and for what others name only without any of the former. */
void service_secrets_show(struct service_secrets *s, const char *name);
void service_secrets_show_kept(struct service_secrets *s, const char *name, bool own);

/* Adds a check for each that is used and may not be read any more. */
bool service_secrets_ready(const struct service_secrets *s, struct checks *checks);

/* ---- how many a namespace may have: of each Secret that it names, the oldest Service first ---- */

enum secret_found { SECRET_UNKNOWN, SECRET_THERE, SECRET_MISSING };
enum secret_admission { SECRET_WATCHED, SECRET_ASKED_LATER, SECRET_TOO_MANY };
struct secrets_budget {
    size_t there, unknown, missing; /* so many are watched */
};
enum secret_admission secrets_admit(struct secrets_budget *b, enum secret_found found);

/* ---- what comes of them ---- */

/* The certificates of those that p serves. -1: there are more than a document may have. */
int service_secrets_add_files(const struct service_secrets *s, const struct services_plan *p,
                              struct storage_files *files) must_check;
/* What the certificate of "namespace/name" is called: no two have the same, nor by a Data Plane API. Allocates. */
char *service_secrets_file_name(const char *secret) must_check;
