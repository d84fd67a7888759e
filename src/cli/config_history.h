/*
 * `config history` and `config rollback`, by what the daemon keeps in STATE_DIR (configuration/store), and `config
 * apply` without a file, which asks the running daemon to try again.
 */
#ifndef CLI_CONFIG_HISTORY_H
#define CLI_CONFIG_HISTORY_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

struct buf;
struct page;
struct settings;
struct store;

/* ERROR_INVALID: no STATE_DIR, or it cannot be read. NULL then. */
struct store *config_history_open(const struct settings *settings, struct error *err) must_check;
void config_history_print(const struct store *s, struct page *p);
/* {"versions": [{"number", "applied", "sha256", "bytes", "source", "targets"}], "paused"}, the latest first. */
void config_history_print_json(const struct store *s, struct buf *out);

/* Waits until the running daemon has done it. -1: it has not, err says why. *ret_number: to which version. */
int config_history_ask(const struct settings *settings, const struct command *command, unsigned *ret_number,
                       bool *ret_paused, struct error *err) must_check;

#endif
