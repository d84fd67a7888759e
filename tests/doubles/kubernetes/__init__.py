"""A double of the Kubernetes API: list and watch for the resources that the daemon reads, with faults on demand.

Standard library only, but for manifests: multi-document YAML needs PyYAML (Debian: python3-yaml); JSON manifests do not.
"""
