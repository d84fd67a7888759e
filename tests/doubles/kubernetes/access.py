"""Who may ask: bearer tokens, client certificates, and what is forbidden."""

from __future__ import annotations

from dataclasses import dataclass, field

from .resources import Target
from .status import ApiError

ANONYMOUS = "system:anonymous"


@dataclass
class Access:
    tokens: dict[str, str] = field(default_factory=dict)
    """Token -> user. With none and no client CA everybody may do everything."""
    client_ca: bool = False
    powerless: set[str] = field(default_factory=lambda: {ANONYMOUS})
    """Users who are known and may read nothing."""
    forbidden: set[str] = field(default_factory=set)
    """Resources that nobody may read, as a plural name or "namespace/plural", for one verb as "verb plural" or "verb
    namespace/plural": what a missing RBAC rule does."""

    def user(self, authorization: str, certificate_user: str) -> str:
        if certificate_user:
            return certificate_user
        scheme, _, token = authorization.partition(" ")
        if authorization and scheme.lower() == "bearer" and (self.tokens or self.client_ca):
            if token.strip() not in self.tokens:
                raise ApiError(401, "Unauthorized")
            return self.tokens[token.strip()]
        return ANONYMOUS if self.tokens or self.client_ca else "admin"

    def allows(self, user: str, verb: str, plural: str, namespace: str) -> bool:
        names = {plural, f"{namespace}/{plural}"}
        return user not in self.powerless and not (names | {f"{verb} {name}" for name in names}) & self.forbidden

    def check(self, user: str, verb: str, target: Target) -> None:
        resource = target.resource
        if self.allows(user, verb, resource.plural, target.namespace):
            return
        where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        named = f' "{target.name}"' if target.name else ""
        raise ApiError(403, f'{target.qualified}{named} is forbidden: User "{user}" cannot {verb} resource '
                            f'"{resource.plural}" in API group "{resource.group}" {where}', details=target.details)
