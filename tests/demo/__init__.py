"""`make demo`: the daemon between a small Kubernetes and a real HAProxy, with traffic, in half a minute."""
