/*
 * The file of HAPROXY_DATAPLANE_CREDENTIALS_FILE: one line for each URL,
 *
 *     # comment
 *     http://haproxy-a:5555 admin:change-me
 *     unix:/run/dataplane.sock Bearer TOKEN
 *
 * White space in front of the URL and behind it counts for nothing; what follows is the user name up to the first ':'
 * and then, to the end of the line, the password. Lines that are empty or begin with '#' are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum secret_part { SECRET_USER, SECRET_PASSWORD, SECRET_TOKEN };

#define CREDENTIALS_LINES_MAX 256
#define CREDENTIALS_LINE_EXPECTED "URL user:password or URL Bearer TOKEN"

struct credentials_line {
    size_t number;               /* in the file, from 1 */
    char *url;                   /* as settings/url.h checks it; NULL where the line is bad */
    const char *user, *password; /* both or none; parts of the text that was parsed, as the token */
    const char *token;           /* instead */
    bool blank_around;           /* the password begins or ends with white space, which is part of it */
    char *why;                   /* the line is bad: why; holds no part of it, since any may be secret. NULL: fine */
};

struct credentials_file {
    struct credentials_line *lines; /* those that are not skipped, in order */
    size_t count;
};

/* Cuts text (text[len] can be written to) into lines; *ret points into it. A URL that was there before makes a line
 * bad, and so does the number of lines: the one past the limit is the last that is read. */
void credentials_file_parse(char *text, size_t len, struct credentials_file *ret);
void credentials_file_fini(struct credentials_file *f); /* the text is the caller's to wipe */

const struct credentials_line *credentials_file_first_bad(const struct credentials_file *f); /* NULL: none */
const struct credentials_line *credentials_file_find(const struct credentials_file *f,
                                                     const char *url); /* NULL: none */

/* Why text cannot be used as this part of credentials, or NULL. Never shows any of it. */
const char *credentials_refuse(enum secret_part part, const char *text);
