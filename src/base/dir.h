/* An open folder that is closed with its scope: cleanup(dir_close_ptr) DIR *d. */
#pragma once

#include <dirent.h>
#include <stddef.h>

static inline void dir_close_ptr(DIR **d)
{
    if (*d != NULL)
        closedir(*d);
}
