/* One parse function for each variable of settings/fields.c; the contract is in settings/fields.h (`parse`). */
#ifndef SETTINGS_VALUES_H
#define SETTINGS_VALUES_H

#include "base/buf.h"
#include "base/compiler.h"

struct settings;

int value_namespace(const char *value, struct settings *c, struct buf *note) must_check;
int value_service(const char *value, struct settings *c, struct buf *note) must_check;
int value_service_port(const char *value, struct settings *c, struct buf *note) must_check;
int value_services(const char *value, struct settings *c,
                   struct buf *note) must_check; /* settings/services.c goes on */
int value_dataplane_url(const char *value, struct settings *c, struct buf *note) must_check; /* settings/dataplanes.c */
int value_credentials_file(const char *value, struct settings *c, struct buf *note) must_check;
int value_backend_name(const char *value, struct settings *c, struct buf *note) must_check;
int value_backend_port(const char *value, struct settings *c, struct buf *note) must_check;
int value_proxy_v2(const char *value, struct settings *c, struct buf *note) must_check;
int value_balance(const char *value, struct settings *c, struct buf *note) must_check;
int value_adv_check(const char *value, struct settings *c, struct buf *note) must_check;
int value_keep_servers(const char *value, struct settings *c, struct buf *note) must_check;
int value_create_backend(const char *value, struct settings *c, struct buf *note) must_check;
int value_allow_empty(const char *value, struct settings *c, struct buf *note) must_check;
int value_resync_period(const char *value, struct settings *c, struct buf *note) must_check;
int value_kubeconfig(const char *value, struct settings *c, struct buf *note) must_check;
int value_listen_address(const char *value, struct settings *c, struct buf *note) must_check;
int value_log_format(const char *value, struct settings *c, struct buf *note) must_check;
int value_log_level(const char *value, struct settings *c, struct buf *note) must_check;

/* settings/values_nodes.c: which nodes, which of their addresses, and how they come and go. */
int value_node_mode(const char *value, struct settings *c, struct buf *note) must_check;
int value_node_selector(const char *value, struct settings *c, struct buf *note) must_check;
int value_node_address_types(const char *value, struct settings *c, struct buf *note) must_check;
int value_ip_family(const char *value, struct settings *c, struct buf *note) must_check;
int value_server_weights(const char *value, struct settings *c, struct buf *note) must_check;
int value_adopt_servers(const char *value, struct settings *c, struct buf *note) must_check;
int value_server_name_format(const char *value, struct settings *c, struct buf *note) must_check;
int value_health_check(const char *value, struct settings *c, struct buf *note) must_check;
int value_drain_timeout(const char *value, struct settings *c, struct buf *note) must_check;
int value_park_ttl(const char *value, struct settings *c, struct buf *note) must_check;
int value_park_nodes(const char *value, struct settings *c, struct buf *note) must_check;
int value_max_loss_percent(const char *value, struct settings *c, struct buf *note) must_check;
int value_dry_run(const char *value, struct settings *c, struct buf *note) must_check;

/* settings/values_access.c: how the two APIs are reached, and what the process may do. */
int value_dataplane_ca_file(const char *value, struct settings *c, struct buf *note) must_check;
int value_dataplane_cert_file(const char *value, struct settings *c, struct buf *note) must_check;
int value_dataplane_key_file(const char *value, struct settings *c, struct buf *note) must_check;
int value_dataplane_server_name(const char *value, struct settings *c, struct buf *note) must_check;
int value_dataplane_insecure(const char *value, struct settings *c, struct buf *note) must_check;
int value_leader_elect(const char *value, struct settings *c, struct buf *note) must_check;
int value_lease_name(const char *value, struct settings *c, struct buf *note) must_check;
int value_lease_namespace(const char *value, struct settings *c, struct buf *note) must_check;
int value_proxy_from_environment(const char *value, struct settings *c, struct buf *note) must_check;
int value_seccomp(const char *value, struct settings *c, struct buf *note) must_check;
int value_emit_events(const char *value, struct settings *c, struct buf *note) must_check;
int value_status_page(const char *value, struct settings *c, struct buf *note) must_check;

#endif
