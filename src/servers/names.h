/*
 * The name of each desired server in one HAProxy. The desired state names servers by their nodes; here it gets the
 * names of that HAProxy's file: those that SERVER_NAME_FORMAT makes, or that of a line which is at a server's address
 * and port already (ADOPT_SERVERS), where no line has the server's own name. Pure, and at rest from the file alone: the
 * same file and state give the same names after a restart.
 *
 * A line is adopted where it may be changed at all (no backup server, no keep glob, no name that several lines or a
 * server-template have), its name is no desired one and no node's that is out, and no other server adopted it. Of
 * several at one place a live one goes before one in maintenance, one that HAProxy runs before one that it does not,
 * one that was adopted before the others, then the first by name.
 *
 * To rename is to keep such lines serving, under their own names, until the server's own is live in HAProxy; then they
 * are out, announced, since another line serves at that place.
 *
 * A line whose server left keeps its node (alias): by the names before, or where its name says it: SERVER_NAME_FORMAT,
 * or NODE-PORT. So what is said of the node (why it is out, that this was announced, that it exists) holds for the
 * line.
 */
#pragma once

#include <stdbool.h>

#include "servers/desired/desired.h"

struct backend;
struct diff_rules;
struct runtime;

struct names_input {
    const struct desired *desired; /* by node */
    const struct desired *before;  /* the last result, or a state by node; NULL: none */
    const struct backend *actual;
    const struct runtime *runtime; /* read with it; NULL: not known */
    const struct diff_rules *rules;
};

/* false: each name is the node's; ret is untouched. Otherwise ret is to be used instead; the caller's desired_fini. */
bool names_apply(const struct names_input *in, struct desired *ret) must_check;

/* The servers whose names are not by the format, as "n1-80 (node n1)". Allocates; NULL: none. */
char *names_adopted(const struct desired *named, const struct diff_rules *rules) must_check;
