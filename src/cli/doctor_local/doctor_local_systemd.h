/*
 * What systemd says of haproxy.service (`systemctl show`), and the command line that it makes of that: ExecStart with
 * the variables of Environment and of the files behind EnvironmentFile (systemd.exec(5), systemd.service(5)). Pure.
 */
#ifndef CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_SYSTEMD_H
#define CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_SYSTEMD_H

#include <stddef.h>

#include "base/compiler.h"

#define SYSTEMD_PROPERTIES "LoadState,ActiveState,MainPID,ExecStart,Environment,EnvironmentFiles"

/* What stands behind "NAME=" in the n-th line of that name; NULL: there is none. Allocates. */
char *systemd_property(const char *shown, const char *name, size_t n) must_check;

/* The path of the n-th environment file; NULL: there is none. Allocates. */
char *systemd_environment_file(const char *shown, size_t n) must_check;

/* A variable as the service gets it: files are the texts of its environment files, the last of which counts most. NULL: it
 * is not set. Allocates. */
char *systemd_variable(const char *shown, const char *const *files, size_t count, const char *name) must_check;

/* The words of the command behind the program, ends with NULL; NULL: there is no command. Allocates, for
 * mem_wipe_free_list. */
char **systemd_command(const char *shown, const char *const *files, size_t count) must_check;

#endif
