/* One line of haproxy.cfg whose words change in place. Pure. */
#ifndef HAPROXY_LOCAL_CONFIG_LINE_H
#define HAPROXY_LOCAL_CONFIG_LINE_H

#include "base/buf.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/local/config.h"

/* A line as it is to be: pieces of the old one, and what stands in the place of others. */
struct local_line {
    const struct cfg_file_line *line;
    struct cfg_line words;
    bool gone[RAWCFG_MAX_WORDS];           /* with the blanks in front of it */
    const char *instead[RAWCFG_MAX_WORDS]; /* NULL: as it stands */
    struct buf more;                       /* each with a blank in front */
    size_t unknown; /* the first keyword that is not known, and may take what stands behind it; 0: none */
};

void local_line_init(struct local_line *e, const struct cfg_file_line *line);
void local_line_fini(struct local_line *e);
/* Adds it to ret, where it is another line now. */
void local_line_done(struct local_line *e, struct cfg_edits *ret);

/* Of the keywords from word `first` on: */
/* Takes the words `off` out, and sees that `on` is there; either may be NULL. */
void local_line_set(struct local_line *e, size_t first, const char *on, const char *off);
/* The argument of each one there is, as the last one counts. value NULL: none is to be there. */
void local_line_value(struct local_line *e, size_t first, const char *keyword, const char *value);
/* Where there is none. */
void local_line_add(struct local_line *e, size_t first, const char *keyword, const char *value);

#endif
