/* An open folder that is closed with its scope: cleanup(dir_close_ptr) DIR *d. */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <dirent.h>
#include <stddef.h>

static inline void dir_close_ptr(DIR **d)
{
    if (*d != NULL)
        closedir(*d);
}

#endif
