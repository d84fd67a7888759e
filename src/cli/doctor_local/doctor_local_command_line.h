/*
 * The command line of a HAProxy (haproxy(1)), as /proc has it or as systemd's unit would make it. Pure.
 */
#ifndef CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_COMMAND_LINE_H
#define CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Which of the files that the settings name a -f is. */
enum local_file_is {
    LOCAL_FILE_OURS,    /* HAPROXY_CONFIG_FILE, or the folder that it is in */
    LOCAL_FILE_CHECKED, /* one of HAPROXY_CHECK_FILES */
    LOCAL_FILE_OTHER,
    LOCAL_FILE_UNSEEN, /* there is none of that name here */
};

struct haproxy_command_line {
    bool master;  /* -W, -Ws */
    bool runs;    /* neither -c nor -v: it is there to stay */
    char *socket; /* of -S, without its options; NULL: none */
    char *folder; /* -C; NULL: none */
    char **files; /* -f, and those behind --, in their order */
    size_t file_count;
};

/* The words behind the program's name. */
void haproxy_command_line_read(struct haproxy_command_line *ret, const char *const *words, size_t count);
void haproxy_command_line_fini(struct haproxy_command_line *l); /* a zeroed one is allowed */

#endif
