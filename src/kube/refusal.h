/*
 * What to do about a 403 of the Kubernetes API, for the log and /readyz. The server's text only chooses between two hints; nothing
 * else depends on it.
 */
#ifndef KUBE_REFUSAL_H
#define KUBE_REFUSAL_H

/* said: the server's message. A request without credentials is refused to a user system:anonymous, and no server says that
 * credentials are missing; rights would be the wrong hint. */
const char *refusal_hint(const char *said);

#endif
