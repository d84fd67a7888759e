/*
 * What mends a 403 of the Kubernetes API, in the words of the log and of /readyz. The words of the server only choose between
 * them; nothing else goes by these.
 */
#ifndef KUBE_REFUSAL_H
#define KUBE_REFUSAL_H

/* said: the server's message. Whoever sends no credentials is told by no server that they are missing, only that somebody
 * called system:anonymous may not do it; rights would be the wrong cure for that. */
const char *refusal_cure(const char *said);

#endif
