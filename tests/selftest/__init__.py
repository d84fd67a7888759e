"""Tests of what tests: the doubles alone, the harness, the benches, the chaos, CI's own scripts."""
