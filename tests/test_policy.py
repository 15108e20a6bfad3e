"""Principals and policies: who may see what, and what a malformed one does."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill import errors
from holdstill.policy import Policy, Principal
from holdstill.predicate import evaluate, f, parse
from holdstill.schema import Schema

SCHEMA = Schema.of(
    {
        "tenant": "str", "acl": "str[]", "owner": "str", "level": "int", "rating": "float", "open": "bool",
        "since": "date", "at": "datetime", "teams": "int[]",
    }
)  # fmt: skip
ANA = Principal("ana", ("staff", "ops"), {"tenant": "acme", "level": 3, "teams": [1, 2], "nobody": None, "empty": []})


def permission(text: str, principal: Principal = ANA) -> str:
    return str(Policy.parse(text, SCHEMA).permission(principal))


# Principals


def test_from_dict():
    given_ = {"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme", "teams": [1, 2]}}
    principal = Principal.from_dict(given_)
    assert principal == Principal("ana", ("staff",), {"tenant": "acme", "teams": (1, 2)})
    given_["attributes"]["tenant"] = "other"
    assert principal.attributes["tenant"] == "acme"
    assert Principal.from_dict({"id": "ana"}) == Principal("ana")


def test_principals_are_frozen():
    with pytest.raises(FrozenInstanceError):
        ANA.id = "bo"
    with pytest.raises(TypeError):
        ANA.attributes["tenant"] = "other"


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (None, "a principal is an object"),
        ("ana", "a principal is an object"),
        ([], "a principal is an object"),
        ({}, "must have an id"),
        ({"groups": []}, "must have an id"),
        ({"id": None}, "id must be a string"),
        ({"id": 5}, "id must be a string"),
        ({"id": ""}, "must have a name"),
        ({"id": " "}, "must have a name"),
        ({"id": "a\x00"}, "id cannot be used"),
        ({"id": "\ud800"}, "id cannot be used"),
        ({"id": "ana", "tenant": "acme"}, "no such key"),
        ({"id": "ana", "Groups": []}, "no such key"),
        ({"id": "ana", 5: []}, "no such key"),
        ({"id": "ana", "groups": "staff"}, "groups must be a list of strings"),
        ({"id": "ana", "groups": None}, "groups must be a list of strings"),
        ({"id": "ana", "groups": {"staff": 1}}, "groups must be a list of strings"),
        ({"id": "ana", "groups": ["staff", 5]}, "groups must be a list of strings"),
        ({"id": "ana", "groups": [None]}, "groups must be a list of strings"),
        ({"id": "ana", "groups": ["a\x00"]}, "group cannot be used"),
        ({"id": "ana", "attributes": []}, "attributes holds values by name"),
        ({"id": "ana", "attributes": None}, "attributes holds values by name"),
        ({"id": "ana", "attributes": {5: "x"}}, "an attribute's name must be a string"),
        ({"id": "ana", "attributes": {"id": "root"}}, "no attribute"),
        ({"id": "ana", "attributes": {"groups": ["root"]}}, "no attribute"),
        ({"id": "ana", "attributes": {"x": {"y": 1}}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": [1, "a"]}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": [None]}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": [True]}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": [1.5]}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": [["a"]]}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": math.nan}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": "a\x00"}}, "attribute 'x' cannot be used"),
        ({"id": "ana", "attributes": {"x": ["a\x00"]}}, "attribute 'x' cannot be used"),
    ],
)
def test_malformed_principals(obj, message):
    with pytest.raises(errors.InvalidPrincipal, match=message):
        Principal.from_dict(obj)


# Policies


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tenant = principal.tenant", "tenant = 'acme'"),
        ("principal.tenant = tenant", "tenant = 'acme'"),
        ("tenant != principal.tenant", "tenant != 'acme'"),
        ("not tenant = principal.tenant", "tenant != 'acme'"),
        ("owner = principal.id", "owner = 'ana'"),
        ("owner in (principal.id, 'anyone')", "owner in ('ana', 'anyone')"),
        ("has_any(acl, principal.groups)", "has_any(acl, 'ops', 'staff')"),
        ("has_any(acl, principal.groups, principal.id, 'public')", "has_any(acl, 'ana', 'ops', 'public', 'staff')"),
        ("has_all(acl, principal.groups)", "has_all(acl, 'ops', 'staff')"),
        ("not has_any(acl, principal.groups)", "not has_any(acl, 'ops', 'staff')"),
        ("has(acl, principal.id)", "has(acl, 'ana')"),
        ("has(teams, principal.teams)", "has_all(teams, 1, 2)"),
        ("owner in principal.groups", "owner in ('ops', 'staff')"),
        ("owner in (principal.groups)", "owner in ('ops', 'staff')"),
        ("owner not in principal.groups", "owner not in ('ops', 'staff')"),
        ("level in principal.teams", "level in (1, 2)"),
        ("level in principal.empty", "level in ()"),
        ("not level in principal.empty", "level not in ()"),
        ("has_any(acl, principal.empty)", "has_any(acl)"),
        ("level <= principal.level", "level <= 3"),
        ("level between 1 and principal.level", "level <= 3 and level >= 1"),
        ("rating > principal.level", "rating > 3.0"),
        ("open", "open = true"),
        ("true", "true"),
        ("open or tenant = principal.tenant and has_any(acl, principal.groups)",
         "has_any(acl, 'ops', 'staff') and tenant = 'acme' or open = true"),
        ('tenant = principal."tenant"', "tenant = 'acme'"),
    ],
)  # fmt: skip
def test_permissions(text, expected):
    assert permission(text) == expected
    policy = Policy.parse(text, SCHEMA)
    assert Policy.parse(str(policy), SCHEMA) == policy
    assert str(Policy.parse(str(policy), SCHEMA)) == str(policy)


def test_one_group_does_not_turn_any_into_all():
    policy = Policy.parse("has_any(acl, principal.groups)", SCHEMA)
    assert str(policy) == "has_any(acl, principal.groups)"
    assert str(policy.permission(Principal("bo", ("x",)))) == "has(acl, 'x')"
    assert evaluate(policy.permission(Principal("bo", ("x", "y"))), {"acl": ("y",)}) is True
    assert evaluate(policy.permission(Principal("bo")), {"acl": ("y",)}) is False


@pytest.mark.parametrize(
    "text",
    [
        "tenant = principal.missing",
        "tenant = principal.nobody",
        "tenant = principal.Tenant",
        "not tenant = principal.missing",
        "tenant != principal.missing",
        "true or tenant = principal.missing",
        "open or not (tenant = 'x' and owner = principal.missing)",
        "not has_any(acl, principal.missing)",
        "owner not in principal.missing",
        "owner not in (principal.id, principal.missing)",
        "tenant is null or level = principal.missing",
    ],
)
def test_a_missing_attribute_admits_nobody(text):
    assert permission(text) == "false"


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("tenant = principal.x", {"x": 5}),
        ("tenant = principal.x", {"x": ["acme"]}),
        ("tenant = principal.x", {"x": True}),
        ("level = principal.x", {"x": "5"}),
        ("level = principal.x", {"x": 5.0}),
        ("level = principal.x", {"x": True}),
        ("rating = principal.x", {"x": "5"}),
        ("open = principal.x", {"x": 1}),
        ("open = principal.x", {"x": "true"}),
        ("level in principal.x", {"x": ["1"]}),
        ("has_any(acl, principal.x)", {"x": [1]}),
        ("not has_any(teams, principal.x)", {"x": ["1"]}),
        ("since >= principal.x", {"x": "yesterday"}),
        ("since >= principal.x", {"x": 2018}),
        ("since >= principal.x", {"x": "2018-01-01T00:00:00Z"}),
        ("at >= principal.x", {"x": "2018-01-01"}),
        ("at >= principal.x", {"x": datetime(2018, 1, 1)}),  # noqa: DTZ001
        ("at >= principal.x", {"x": date(2018, 1, 1)}),
    ],
)
def test_an_attribute_of_the_wrong_type_is_no_permission_and_no_refusal(text, attributes):
    with pytest.raises(errors.InvalidPrincipal, match=r"principal\.x does not fit") as caught:
        Policy.parse(text, SCHEMA).permission(Principal("ana", (), attributes))
    assert caught.value.field == "x"


def test_moments_may_be_text():
    principal = Principal("ana", (), {"day": "2018-01-01", "now": "2018-01-01T01:00:00+01:00", "days": ["2018-01-01"]})
    assert permission("since >= principal.day", principal) == "since >= date '2018-01-01'"
    assert permission("since in principal.days", principal) == "since = date '2018-01-01'"
    assert permission("at >= principal.now", principal) == "at >= datetime '2018-01-01T00:00:00Z'"
    native = Principal("ana", (), {"day": date(2018, 1, 1), "now": datetime(2018, 1, 1, tzinfo=UTC)})
    assert permission("since >= principal.day and at < principal.now", native) == (
        "at < datetime '2018-01-01T00:00:00Z' and since >= date '2018-01-01'"
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", errors.PredicateSyntax),
        ("tenant = principal", errors.PredicateSyntax),
        ("tenant = principal.", errors.PredicateSyntax),
        ("tenant = principal.a.b", errors.PredicateSyntax),
        ("principal.id = 'ana'", errors.PredicateSyntax),
        ("principal.id = principal.owner", errors.PredicateSyntax),
        ("principal.admin", errors.PredicateSyntax),
        ("principal.id is null", errors.PredicateSyntax),
        ("has_any(principal.groups, 'x')", errors.PredicateSyntax),
        ("has(acl, principal.groups)", errors.PredicateSyntax),
        ("tenant = :tenant", errors.PredicateSyntax),
        ("nope = principal.tenant", errors.UnknownField),
        ("score > 0.5", errors.FusedScoreThreshold),
        ("tenant = 5", errors.TypeMismatch),
        ("acl = principal.x", errors.TypeMismatch),
        ("open < principal.x", errors.TypeMismatch),
        ("has(tenant, principal.id)", errors.TypeMismatch),
        ("tenant = principal.groups", errors.TypeMismatch),
        ("level = principal.id", errors.TypeMismatch),
        ("level in principal.groups", errors.TypeMismatch),
        ("has_any(teams, principal.groups)", errors.TypeMismatch),
        ("contains(text, 'public')", errors.InvalidPredicate),
        ("tenant = principal.tenant and not phrase(text, 'top secret')", errors.InvalidPredicate),
    ],
)
def test_policies_that_cannot_be(text, error):
    with pytest.raises(error):
        Policy.parse(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "tenant = principle.tenant",
        "principle.tenant = tenant",
        "owner in principle.groups",
        "has_any(acl, principle.groups)",
    ],
)
def test_a_misspelled_principal_is_recognised(text):
    with pytest.raises(errors.PredicateSyntax) as caught:
        Policy.parse(text, SCHEMA)
    assert (caught.value.got, caught.value.hint) == ("'principle' (str)", "Did you mean `principal`?")


def test_a_policy_that_is_no_filter_says_so():
    with pytest.raises(errors.PredicateSyntax) as caught:
        Policy.parse("tenant =", SCHEMA)
    assert caught.value.field == "policy"


def test_a_principal_cannot_write_the_predicate():
    hostile = "acme' or true --"
    assert permission("tenant = principal.tenant", Principal("x", (), {"tenant": hostile})) == (
        "tenant = 'acme'' or true --'"
    )
    assert Policy.parse("tenant = principal.tenant", SCHEMA).permission(Principal("x", (), {"tenant": hostile})) == (
        f.tenant == hostile
    )


@given(st.text(max_size=6), st.lists(st.text(max_size=3), max_size=3), st.lists(st.text(max_size=3), max_size=3))
def test_groups_admit_exactly_those_who_share_one(tenant, groups, acl):
    acl_field, tenant_field = SCHEMA["acl"], SCHEMA["tenant"]
    try:
        principal = Principal("ana", tuple(groups), {"tenant": tenant})
    except errors.InvalidPrincipal:
        return
    allowed = Policy.parse("tenant = principal.tenant and has_any(acl, principal.groups)", SCHEMA).permission(principal)
    row = {"acl": acl_field.accept(acl), "tenant": tenant_field.accept(tenant)}
    assert evaluate(allowed, row) is any(group in row["acl"] for group in groups)
    assert allowed == parse(str(allowed)).check(SCHEMA)
    assert evaluate(allowed, row | {"acl": None}) is not True
