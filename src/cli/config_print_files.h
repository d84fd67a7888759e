/* What `config plan` says of each file beside a haproxy.cfg. */
#ifndef CLI_CONFIG_PRINT_FILES_H
#define CLI_CONFIG_PRINT_FILES_H

#include <stdbool.h>

struct page;
struct storage_foresight;
struct yyjson_mut_doc;
struct yyjson_mut_val;

/* Those that change one by one, with their commands; of the others no more than the names. */
void config_print_files(const struct storage_foresight *s, struct page *p);
/* "files": [{"name", "effect", "why", "entries": {"new", "gone", "changed"}, "commands"}] of all. */
void config_put_files(const struct storage_foresight *s, struct yyjson_mut_doc *doc, struct yyjson_mut_val *to);
/* The next of `line`s; *line: the first time all of them. Allocates; NULL: there are no more. */
char *config_next_command(const char **line);
bool config_files_change(const struct storage_foresight *s); /* any of them */

#endif
