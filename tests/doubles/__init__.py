"""Stand-ins for the parts around the daemon; tests/conformance holds them to the real ones."""
