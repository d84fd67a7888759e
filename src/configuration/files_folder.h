/* The files of a configuration from a folder: maps/NAME, certs/NAME, files/NAME. */
#ifndef CONFIGURATION_FILES_FOLDER_H
#define CONFIGURATION_FILES_FOLDER_H

#include "base/error.h"
#include "haproxy/storage_files.h"

/* What begins with a dot is none of them; a folder that is not there has none. ERROR_INVALID names what is wrong. */
int files_folder_read(const char *path, struct storage_files *ret, struct error *err) must_check;

#endif
