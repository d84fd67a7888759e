"""The daemon (with sanitizers) between the doubles and a real HAProxy: what needs faults that no real part has on demand."""
