"""The transaction: its machine, the order of its steps, and what an answer means."""

from .mutant import Mutant, Room

TXN = "haproxy/dataplane/transaction.c"
STEPS = "haproxy/dataplane/transaction_steps.c"
CHANGES = "servers/change/changes.c"
VERDICT = "haproxy/dataplane/transaction_verdict.c"

MACHINE = (
    Mutant("a transaction that failed is left behind", TXN,
           "give_up(struct transaction *t)\n{\n    if (t->id == NULL)", "give_up(struct transaction *t)\n{\n    if (true)"),
    Mutant("a dead transaction is the fault of what we write", TXN, "        t->error.kind = ERROR_CONFLICT;\n", "        ;\n"),
    Mutant("what is gone with its commit is deleted again", TXN, "if (t->state == TRANSACTION_COMMIT && transaction_is_gone(a))", "if (false)"),
    Mutant("Retry-After is lost", TXN, "    t->retry_after_ms = a->retry_after_ms;\n", ""),
    Mutant("an abort while it begins is not heard", TXN, "return t->abort_wanted ? stop(t) : transaction_advance(t);", "return transaction_advance(t);"),
    Mutant("an abort between changes is not heard", TXN,
           "t->change_us += a->duration_us;\n    if (t->abort_wanted)", "t->change_us += a->duration_us;\n    if (false)"),
    Mutant("at the limit there is no end of cleaning up", TXN, "(t->result == TRANSACTION_LIMIT && !t->cleaned) ||", "t->result == TRANSACTION_LIMIT ||"),
    Mutant("at the limit nothing is cleaned up", TXN, "(t->result == TRANSACTION_LIMIT && !t->cleaned) || t->refusal != NULL ?", "t->refusal != NULL ?"),
    Mutant("a login page in place of an answer lets a change pass", TXN,
           "if (!transaction_is_done(a))\n        return transaction_fail", "if (!transaction_is_success(a))\n        return transaction_fail"),
    Mutant("a login page in place of an answer lets a commit pass", TXN, "if (!transaction_is_commit_answer(a))", "if (!transaction_is_success(a))"),
    Mutant("a change is sent twice", TXN, "    t->next_step++;\n    return transaction_advance(t);", "    t->next_step += t->next_step > 0;\n    return transaction_advance(t);"),
    Mutant("a refused change is passed over", TXN, "        return transaction_fail(t, a, transaction_wrong_answer(a));\n    t->next_step++;", "        ;\n    t->next_step++;"),
    Mutant("a commit without a version says version 0", TXN, "a->version > 0 ? a->version : -1;", "a->version;"),
    Mutant("the reload of a commit is not told", TXN, "t->reload_id = mem_strdup(a->reload_id);", "t->reload_id = NULL;"),
    Mutant("what the deletion shows about the commit is not heard", TXN, "    t->result = transaction_result_in_hindsight(t, a);\n", ""),
    Mutant("what was gone already is kept to be deleted", TXN, "    if (transaction_is_done(a) || transaction_is_gone(a)) {\n", "    if (transaction_is_done(a)) {\n"),
    Mutant("somebody's open transaction is deleted", TXN, 'str_eq(all[i].status, "outdated")', "true"),
    Mutant("outdated transactions stay", TXN, 'str_eq(all[i].status, "failed") || str_eq(all[i].status, "outdated")', 'str_eq(all[i].status, "failed")'),
    Mutant("failed transactions stay", TXN, 'str_eq(all[i].status, "failed") || str_eq(all[i].status, "outdated")', 'str_eq(all[i].status, "outdated")'),
    Mutant("a clean-up that was aborted goes on", TXN, "t->cleaned = true;\n    if (t->abort_wanted)", "t->cleaned = true;\n    if (false)"),
    Mutant("what was deleted is deleted again next time", TXN, "        forget_held(t, t->dead[t->next_dead]);\n", ""),
    Mutant("refused credentials do not end a clean-up", TXN, "a->status == 401 || a->status == 403);", "false);"),
    Mutant("a clean-up without success tries again", TXN, "return t->freed > 0 ? transaction_begin(t) : transaction_done(t);", "return transaction_begin(t);"),
    Mutant("only the first dead one is deleted", TXN, "!hopeless && ++t->next_dead < t->dead_count", "false"),
    Mutant("a transaction that could not be deleted is forgotten", TXN,
           "    free_ids(&t->foreign, &t->foreign_count);\n    hold(t);\n", "    free_ids(&t->foreign, &t->foreign_count);\n    t->held_count = 0;\n"),
    Mutant("a stranger's transaction of the file's version is deleted", TXN, "all[i].version < version)", "all[i].version <= version)"),
    Mutant("a stranger's transaction of no known version is deleted", TXN, "all[i].version >= 0 && all[i].version < version)", "all[i].version < version)"),
    Mutant("strangers' transactions that nobody can commit fill the API for ever", TXN, "    t->outlived = t->dead_count > 0;\n", "    free_ids(&t->dead, &t->dead_count);\n"),
    Mutant("a stranger's transaction is deleted without need", TXN, "t->refusal == NULL && t->dead_count == 0 && !t->cleanup_only;", "true;"),
    Mutant("what was deleted for room once makes strangers of ours", TXN, "    t->outlived = false;\n", ""),
    Mutant("a stranger's transaction is deleted without a word", TXN, "if (t->outlived && !transaction_is_gone(a))", "if (false)"),
    Mutant("the same transaction is held twice", TXN, " || has_id(*ids, *count, id))", ")"),
    Mutant("there is no end of what is held", TXN, "    if (*count == max || ", "    if ("),
    Mutant("a begin without room is a word about the preview", TXN, "    error_clear(&t->error); /* of a begin", "    /* of a begin"),
)

ORDER = (
    Mutant("removals come first", CHANGES, "{{DIFF_CHANGE, CHANGE_SET_SERVER}, {DIFF_ADD, CHANGE_ADD_SERVER}, {DIFF_REMOVE, CHANGE_REMOVE_SERVER}}", "{{DIFF_REMOVE, CHANGE_REMOVE_SERVER}, {DIFF_CHANGE, CHANGE_SET_SERVER}, {DIFF_ADD, CHANGE_ADD_SERVER}}"),
    Mutant("additions come before changes", CHANGES, "{{DIFF_CHANGE, CHANGE_SET_SERVER}, {DIFF_ADD, CHANGE_ADD_SERVER}, ", "{{DIFF_ADD, CHANGE_ADD_SERVER}, {DIFF_CHANGE, CHANGE_SET_SERVER}, "),
    Mutant("a backend whose order counts is written whole", STEPS, " || goes_by_order(c->settings.balance))", ")"),
    Mutant("a backend that is there is written whole", STEPS, "if (c->kind != CHANGE_MAKE_BACKEND || ", "if (c->server != NULL || "),
    Mutant("servers of a backend made whole are added twice", STEPS, "        i += with;\n", ""),
    Mutant("a backend that changes is not written", CHANGES, "if (d->create_backend || d->backend_change)", "if (d->create_backend)"),
)

ANSWERS = (
    Mutant("a login page is an answer", VERDICT, "transaction_is_success(a) && (a->status != 200 || a->version >= 0);", "transaction_is_success(a);"),
    Mutant("410 is not gone", VERDICT, "(a->status == 404 || a->status == 410)", "(a->status == 404)"),
    Mutant("a change in a dead transaction is our fault", VERDICT,
           "if ((state == TRANSACTION_CHANGE || state == TRANSACTION_PREVIEW) && a->status == 400 && a->version == 0)", "if (false)"),
    Mutant("any refused change is a conflict", VERDICT, "a->status == 400 && a->version == 0)", "a->status == 400)"),
    Mutant("a gateway that lost a commit's answer is taken for a refusal", VERDICT,
           "if (state == TRANSACTION_COMMIT && (a->status == 502 || a->status == 504))", "if (false)"),
    Mutant("a commit without an answer is taken for not sent", VERDICT,
           "state == TRANSACTION_COMMIT && a->progress != HTTP_NOT_SENT ? TRANSACTION_UNKNOWN : TRANSACTION_UNAVAILABLE;", "TRANSACTION_UNAVAILABLE;"),
    Mutant("a commit that was not sent is in doubt", VERDICT, "state == TRANSACTION_COMMIT && a->progress != HTTP_NOT_SENT ?", "state == TRANSACTION_COMMIT ?"),
    Mutant("missing credentials are no refusal", VERDICT, "if (a->error != NULL && a->error->kind == ERROR_AUTH)", "if (false)"),
    Mutant("a transaction that is gone is our fault", VERDICT,
           "return state == TRANSACTION_CHANGE || state == TRANSACTION_PREVIEW || state == TRANSACTION_COMMIT\n                   ? TRANSACTION_CONFLICT", "return true ? TRANSACTION_REJECTED"),
    Mutant("an API that is no v3 is a conflict for ever", VERDICT,
           "return state == TRANSACTION_CHANGE || state == TRANSACTION_PREVIEW || state == TRANSACTION_COMMIT\n                   ? TRANSACTION_CONFLICT", "return true ? TRANSACTION_CONFLICT"),
    Mutant("a commit that failed and is not to be deleted is taken for not done", VERDICT,
           "t->error.http_status != 0 &&\n        !transaction_is_done(a))", "false)"),
    Mutant("a change refused for want of its transaction is our fault", VERDICT,
           "if (t->failed_in == TRANSACTION_CHANGE && t->result == TRANSACTION_REJECTED", "if (false"),
)

NAMED = (
    Mutant("a transaction is looked for in prose", TXN, "if (at > message && at[-1] == '.' && (*end == ':' || *end == '\\n' || *end == '\\0'))", "if (true)"),
    Mutant("a transaction is looked for in any word", TXN, "at > message && at[-1] == '.' && (", "("),
    Mutant("a part of an id is a transaction", TXN, " && (*end == ':' || *end == '\\n' || *end == '\\0'))", ")"),
    Mutant("the file that it is written to first is unknown", TXN, 'at + len + strspn(at + len, "0123456789")', "at + len"),
    Mutant("only the first word that looks like it is looked at", TXN, "        if (at > message && at[-1] == '.'", "        if (at > message && at[-1] != '.')\n            return false;\n        if (at > message && at[-1] == '.'"),
    Mutant("what the API says of a begin is not looked at", TXN, "        t->refusal = codec_refusal(a->body, a->body_len);\n", "        ;\n"),
)
CODEC = (
    Mutant("an empty message is a refusal", "haproxy/dataplane/codec_status.c", "return str_empty(message) ? NULL : mem_strndup", "return message == NULL ? NULL : mem_strndup"),
    Mutant("an agent that is off sets weights", "haproxy/dataplane/codec_status.c", "&enabled, NULL) == 0 && enabled;", "&enabled, NULL) == 0;"),
)

ROOMS = (Room("codec", ("test_codec_status",), CODEC),
         Room("transaction", ("test_transaction", "test_transaction_left_behind", "test_transaction_steps"), MACHINE + ORDER + ANSWERS + NAMED))
