/* The types that settings have in common (struct setting_type), by the C type of the row's member. */
#pragma once

#include "base/compiler.h"
#include "settings/secrets/secret.h"
#include "settings/table.h"

/* The row's member of s. */
#define SETTING_MEMBER(ctype, row, s) (*(ctype *)((char *)(s) + (row)->member))

extern const struct setting_type type_flag;         /* bool */
extern const struct setting_type type_number;       /* unsigned, from min to max; 0 where it is not set */
extern const struct setting_type type_duration;     /* uint64_t, in milliseconds, from min to max */
extern const struct setting_type type_words;        /* an enum, whose values are the indices of words */
extern const struct setting_type type_text;         /* char *, as check lets it pass */
extern const struct setting_type type_word_or_keep; /* the same; NULL: keep */
extern const struct setting_type type_secret;       /* struct secret */

/* Those of one setting: in settings/values.c, settings/services.c and settings/dataplanes.c. */
extern const struct setting_type type_services, type_selector, type_address_types, type_dataplanes, type_globs,
    type_listen_address, type_names, type_ports, type_template_from, type_endpoints;

void text_print(const struct setting *row, const struct settings *s, struct buf *out);
void text_fini(const struct setting *row, struct settings *s);
void names_print(const struct setting *row, const struct settings *s, struct buf *out);
void names_fini(const struct setting *row, struct settings *s);

/* Checks of texts (`check` of struct setting), in settings/values.c: what one setting alone has. Each: -1 where s is
 * refused; what is put into note then says more than that, and holds no part of s. */
int check_service(const char *s, struct buf *note) must_check;
int check_path(const char *s, struct buf *note) must_check;
int check_absolute_path(const char *s, struct buf *note) must_check;
int check_host_name(const char *s, struct buf *note) must_check;
int check_spire_socket(const char *s, struct buf *note) must_check;
int check_spiffe_id(const char *s, struct buf *note) must_check;
int check_true_or_false(const char *s, struct buf *note) must_check;
int check_balance(const char *s, struct buf *note) must_check;
int check_adv_check(const char *s, struct buf *note) must_check;
int check_server_name_format(const char *s, struct buf *note) must_check;
int check_secret_name(const char *s, struct buf *note) must_check;
int check_secret_key(const char *s, struct buf *note) must_check;
int check_lease_name(const char *s, struct buf *note) must_check;
/* Those of traces are in settings/traces.c. */
int check_otlp_url(const char *s, struct buf *note) must_check;
int check_pairs(const char *s, struct buf *note) must_check;
int check_text_line(const char *s, struct buf *note) must_check;
int check_annotation_prefix(const char *s, struct buf *note) must_check;
int check_cluster_name(const char *s, struct buf *note) must_check;
int check_kubeconfig(const char *s, struct buf *note) must_check;
int check_etcd_path(const char *s, struct buf *note) must_check;
int check_etcd_name(const char *s, struct buf *note) must_check;

/* The next entry of a list from *rest on, which is moved behind it; NULL: none. Allocates. */
char *value_next_entry(const char **rest) must_check;

/* The index of value in words, which end with NULL, or -1, with a hint where one of them is nearly it. */
int words_find(const char *const *words, const char *value, struct buf *note) must_check;
