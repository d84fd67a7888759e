"""The Helm chart under test: how helm is run, the values files of all tests, and what comes out of them."""
