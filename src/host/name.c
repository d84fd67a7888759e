#include "host/name.h"

#include <unistd.h>

void host_name(char ret[HOST_NAME_BYTES])
{
    if (gethostname(ret, HOST_NAME_BYTES) != 0)
        ret[0] = '\0';
    ret[HOST_NAME_BYTES - 1] = '\0'; /* POSIX leaves it open whether one that is cut has an end */
}
