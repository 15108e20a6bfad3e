"""Who may do what: from a caller to a permission predicate, before anything is embedded or fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdstill.arguments import as_flag
from holdstill.errors import InvalidPrincipal, OperatorRequired, PrincipalRequired
from holdstill.policy import Principal
from holdstill.predicate import Predicate
from holdstill.stores.base import Snapshot

Asking = Principal | Mapping[str, Any] | None


def permission(snapshot: Snapshot, principal: Asking, *, operator: bool) -> Predicate | None:
    """What the caller may see; None is everything.

    Without a policy every caller is the operator.

    Raises:
        holdstill.InvalidPrincipal: the principal is malformed, or was named together with the operator.
        holdstill.InvalidInput: `operator` is neither True nor False.
        holdstill.PrincipalRequired: a policy is in force and nobody was named.
    """
    caller = caller_of(principal, operator=operator)
    if snapshot.policy is None or operator:
        return None
    if caller is None:
        raise PrincipalRequired(
            "this collection has a policy, so every call must say who asks",
            field="principal",
            expected="a principal, or the operator",
            hint='Pass principal={"id": ..., "groups": [...], "attributes": {...}} or operator=True; '
            "on the command line, --as principal.json or --operator",
        )
    return snapshot.policy.permission(caller)


def require_operator(snapshot: Snapshot, principal: Asking, *, operator: bool) -> None:
    """Let only the operator pass.

    Raises:
        holdstill.InvalidPrincipal: the principal is malformed, or was named together with the operator.
        holdstill.InvalidInput: `operator` is neither True nor False.
        holdstill.OperatorRequired: a policy is in force and the caller is not the operator.
    """
    caller_of(principal, operator=operator)
    if snapshot.policy is not None and not operator:
        raise OperatorRequired(
            "only the operator may do this on a collection with a policy",
            field="operator",
            hint="Pass operator=True; on the command line, --operator",
        )


def caller_of(principal: Asking, *, operator: bool) -> Principal | None:
    """Who asks, checked; None for the operator, and where nobody was named; raises `holdstill.InvalidPrincipal`."""
    if as_flag("operator", operator) and principal is not None:
        raise InvalidPrincipal(
            "a principal and the operator were both named", field="principal", expected="one of the two", got=principal
        )
    return principal if principal is None or isinstance(principal, Principal) else Principal.from_dict(principal)
