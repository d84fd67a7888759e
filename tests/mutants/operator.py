"""What an operator says and sees: names that are nearly a setting."""

from .mutant import Mutant, Room

UNKNOWN = "config/unknown.c"
VALUES = "config/values.c"

MISSPELT = (
    Mutant("a misspelt safety setting is ignored", UNKNOWN, "if (suggestion != NULL && is_sure && is_safety(suggestion))", "if (false)"),
    Mutant("a wild guess stops the start", UNKNOWN, "suggestion != NULL && is_sure && is_safety", "suggestion != NULL && is_safety"),
    Mutant("any misspelt setting stops the start", UNKNOWN, "&& is_safety(suggestion))", ")"),
    Mutant("a name that adds words is another one", UNKNOWN, '"DRY_RUN",    "LEADER_ELECT"', '"LEADER_ELECT"'),
    Mutant("anything sends the PROXY protocol or not", VALUES, 'c->proxy_v2 || str_eq(value, "false") ? 0 : -1', "0"),
)

ROOMS = (Room("settings", ("test_unknown", "test_config"), MISSPELT),)
