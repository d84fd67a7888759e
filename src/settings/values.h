/*
 * What one setting alone has: checks of texts (`check` of struct setting in settings/table.h). Each: -1 where s is
 * refused; what is put into note then says more than that, and holds no part of s.
 */
#ifndef SETTINGS_VALUES_H
#define SETTINGS_VALUES_H

#include "base/buf.h"
#include "base/compiler.h"

int check_service(const char *s, struct buf *note) must_check;
int check_path(const char *s, struct buf *note) must_check;
int check_host_name(const char *s, struct buf *note) must_check;
int check_true_or_false(const char *s, struct buf *note) must_check;
int check_balance(const char *s, struct buf *note) must_check;
int check_adv_check(const char *s, struct buf *note) must_check;
int check_server_name_format(const char *s, struct buf *note) must_check;
int check_lease_name(const char *s, struct buf *note) must_check;
int check_kubeconfig(const char *s, struct buf *note) must_check;

/* note says why; -1. */
int value_refuse(struct buf *note, const char *why);

/* The next entry of a list from *rest on, which is moved behind it; NULL: none. Allocates. */
char *value_next_entry(const char **rest) must_check;

#endif
