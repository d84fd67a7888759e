"""Connections are kept, and none that may be dead is tried twice."""

from __future__ import annotations

from .mutant import Mutant, room

room("connections", ("test_http", "test_informer"), (
    Mutant("watches leave no room for connections that are kept", "net/http_loop.c", "#define MAX_CONNECTIONS 1024L", "#define MAX_CONNECTIONS 128L"),
    Mutant("every connection is a new one", "net/http.c", "if (o->new_connection)", "if (true)"),
    Mutant("no connection is a new one", "net/http.c", "if (o->new_connection)", "if (false)"),
    Mutant("a watch that ended well takes a new connection", "kube/informer.c", "    i->failed = err != NULL;\n", "    i->failed = true;\n"),
    Mutant("a watch that was cancelled takes a kept connection", "kube/informer.c", "i->cancelled = i->failed = true;", "i->cancelled = true;"),
))
