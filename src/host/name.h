/* The name of this host, which in a pod is the pod's. */
#ifndef HOST_NAME_H
#define HOST_NAME_H

#define HOST_NAME_BYTES 65 /* as long as Linux has them, and their end */

/* "" where it has none. */
void host_name(char ret[HOST_NAME_BYTES]);

#endif
