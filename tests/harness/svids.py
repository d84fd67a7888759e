"""X.509 SVIDs as a Workload API gives them."""

from __future__ import annotations

from tests.doubles.spiffe import Svid

from .certificates import Authority, der, key_der


def svid(authority: Authority, name: str, spiffe_id: str, seconds: int = 3600) -> Svid:
    """Signed by an authority that alone is its bundle; see Authority.svid."""
    pair = authority.svid(name, spiffe_id, seconds)
    return Svid(spiffe_id, der(pair.certificate), key_der(pair.key), der(authority.certificate))
