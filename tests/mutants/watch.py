"""The list/watch machine: kube/watch, its table of what follows which trouble, and what it asks for."""

from .mutant import Mutant, Room

WATCH = "kube/watch.c"
RULES = "kube/watch_rules.c"
REQUEST = "kube/watch_request.c"

REQUESTS = (
    Mutant("timeoutSeconds is longer than asked for", WATCH, "% (most - least + 1)", "% (most + 1)"),
    Mutant("a new watch is proven by the one before", WATCH,
           "w->answered_ms = 0;\n    w->stable = w->spoke = false;", "w->answered_ms = 0;"),
    Mutant("a server that refused streaming lists is asked again each time", WATCH,
           "bool pages = w->paged || now_ms < w->server->no_streaming_until_ms;", "bool pages = w->paged;"),
    Mutant("pages that were chosen are not kept to", WATCH,
           "bool pages = w->paged || now_ms <", "bool pages = now_ms <"),
    Mutant("contact is back again and again", WATCH, "    if (w->contact)\n        return 0;\n", ""),
    Mutant("a huge Retry-After is waited for", WATCH, "if (retry_after_ms > WATCH_MAX_RETRY_AFTER_MS)", "if (false)"),
    Mutant("a short Retry-After shortens the backoff", WATCH,
           "return retry_after_ms > 0 && (uint64_t)retry_after_ms > wait ?", "return retry_after_ms > 0 ?"),
    Mutant("a wait for a list ends in a watch", WATCH, "w->wait_for_watch = watch;", "w->wait_for_watch = true;"),
    Mutant("a wait for a watch ends in a list", WATCH, "w->wait_for_watch = watch;", "w->wait_for_watch = false;"),
    Mutant("streaming lists are tried once more", WATCH, "++w->cut_streams >= WATCH_STREAMING_TRIES", "++w->cut_streams > WATCH_STREAMING_TRIES"),
    Mutant("a list without pages that expires is tried again at once", WATCH, "(w->page < 2 || w->unlimited)", "(w->page < 2)"),
    Mutant("a first page that expires asks for all at once", WATCH, "(w->page < 2 || w->unlimited)", "(w->unlimited)"),
)

REACTIONS = (
    Mutant("a watch that is closed at once is begun at once, again and again", WATCH,
           "return w->stable ? start_watch(w, now_ms) : watch_wait_for(w, true, retry_after_ms, now_ms);", "return start_watch(w, now_ms);"),
    Mutant("lists follow lists without a pause", WATCH, "if (news && now_ms >= spaced_ms)", "if (news)"),
    Mutant("a list that brought nothing is begun again at once", WATCH, "if (news && now_ms >= spaced_ms)", "if (now_ms >= spaced_ms)"),
    Mutant("news of before the last list count", WATCH, "        w->progress = false;\n", ""),
    Mutant("pages are not chosen where streaming fails", WATCH, "        w->paged = true;\n", ""),
    Mutant("refused credentials are tried without a pause", WATCH, "if (!first_refusal)", "if (false)"),
    Mutant("refused credentials are tried after a pause only", WATCH, "if (!first_refusal)", "if (true)"),
    Mutant("a refusal is believed at once", WATCH, "status == 0 || !w->synced || now_ms >= w->refused_ms + WATCH_DENIED_MS", "true"),
    Mutant("a refusal before the first list is not believed", WATCH, "status == 0 || !w->synced || now_ms", "status == 0 || now_ms"),
    Mutant("each refusal starts its clock anew", WATCH, "else if (w->refused_ms == 0)", "else"),
    Mutant("one good answer does not end a row of refusals", WATCH, "        w->refused_ms = 0;\n", "        ;\n"),
    Mutant("another answer does not make a 401 the first again", WATCH, "w->credentials_refused && t == TROUBLE_UNAUTHORIZED;", "w->credentials_refused;"),
    Mutant("silence is no loss of contact", WATCH, "if (t == TROUBLE_SILENT || t == TROUBLE_MUTE)", "if (t == TROUBLE_MUTE)"),
    Mutant("a half list stays open", WATCH, "? WATCH_ENDED : WATCH_REPLACE_ABORT;", "? WATCH_ENDED : 0;"),
    Mutant("a request that failed in the middle goes on", WATCH, "        actions |= WATCH_CANCEL;\n", "        ;\n"),
)

FORGET = "[WATCH_EVENT_FORGET]   = {on_forget, "
EVENTS = (
    Mutant("a half list stays open when we stop", WATCH, "    if (is_list(w->state))\n        actions |= WATCH_REPLACE_ABORT;\n", ""),
    Mutant("waiting ends too soon", WATCH, "if (e->type == WATCH_EVENT_TIMER && now_ms < w->wait_until_ms)", "if (false)"),
    Mutant("a poke does not end the wait", WATCH, "if (e->type == WATCH_EVENT_TIMER && now_ms <", "if (now_ms <"),
    Mutant("a cache that was emptied is taken for complete", WATCH, "    w->synced = false;\n", ""),
    Mutant("after the cache was emptied a watch follows", WATCH, "    w->wait_for_watch = false;\n", ""),
    Mutant("the page of a proxy is read", WATCH, "if (!e->readable)", "if (false)"),
    Mutant("a good answer does not make a 401 the first again", WATCH, "    w->credentials_refused = false;\n", ""),
    Mutant("a good answer leaves the refusal standing", WATCH, "    note_refusal(w, 0, now_ms);\n", ""),
    Mutant("bytes are no sign of life", WATCH, "    (void)e;\n    w->last_byte_ms = now_ms;\n", "    (void)e;\n"),
    Mutant("a watch that spoke is called mute", WATCH, "w->state == WATCH_WATCHING && !w->spoke ?", "w->state == WATCH_WATCHING ?"),
    Mutant("a watch from a version of the future waits for ever", WATCH,
           "w->state == WATCH_WATCHING && !w->spoke ? TROUBLE_MUTE : TROUBLE_SILENT;", "TROUBLE_SILENT;"),
    Mutant("a quiet watch never proves contact", WATCH, "        actions = contact_back(w);\n", "        ;\n"),
    Mutant("an object without a version empties ours", WATCH, "if (str_empty(version) || str_eq(to, version))", "if (version == NULL || str_eq(to, version))"),
    Mutant("that streaming lists failed is not remembered", WATCH, "    if (w->paged) /*", "    if (false) /*"),
    Mutant("that a server has no streaming lists is believed of every server", WATCH, "    if (w->paged) /*", "    if (true) /*"),
    Mutant("once without pages, always without", WATCH, "    w->paged = w->unlimited = false;\n", ""),
    Mutant("cut streams of long ago count", WATCH, "    w->cut_streams = 0;\n", ""),
    Mutant("a later page says where the watch begins", WATCH, "    if (w->page == 1) /*", "    if (true) /*"),
    Mutant("a list without a version is taken", WATCH, "w->page == 1 && (str_empty(e->version) || !version_fits(e->version))", "w->page == 1 && !version_fits(e->version)"),
    Mutant("a huge continue token is taken", WATCH, "if (strlen(e->continue_token) > WATCH_MAX_CONTINUE_BYTES)", "if (false)"),
    Mutant("the second page ends the list", WATCH, "if (str_empty(e->continue_token)) {", "if (str_empty(e->continue_token) || w->page == 2) {"),
    Mutant("what is deleted while a list streams stays", WATCH, "return e->deleted ? WATCH_DELETE : WATCH_PUT;", "return WATCH_PUT;"),
    Mutant("any bookmark ends the list", WATCH, "    if (!e->initial_end)\n        return 0;\n", ""),
    Mutant("the end of a streamed list is no sign of bookmarks", WATCH,
           "    w->stable = w->spoke = false;\n    w->bookmarks_seen = true;\n", "    w->stable = w->spoke = false;\n"),
    Mutant("news do not end the backoff", WATCH, "    backoff_reset(&w->backoff);\n    return contact_back(w);\n", "    return contact_back(w);\n"),
    Mutant("news are no progress", WATCH, "    w->progress = true;\n", ""),
    Mutant("the same again right after the start is news", WATCH,
           "if (!move_version(w->version, e->version) && now_ms < w->answered_ms + WATCH_STABLE_MS)",
           "if (!move_version(w->version, e->version) && false)"),
    Mutant("what is deleted stays", WATCH, "return (e->deleted ? WATCH_DELETE : WATCH_PUT) | news", "return WATCH_PUT | news"),
    Mutant("a watch that lived long and is closed is not proven", WATCH,
           "        w->stable = true;\n    return end_request(w, TROUBLE_CLOSED", "        ;\n    return end_request(w, TROUBLE_CLOSED"),
    Mutant("a watch that lived long and is lost is not proven", WATCH,
           "        w->stable = true;\n    return end_request(w, TROUBLE_LOST", "        ;\n    return end_request(w, TROUBLE_LOST"),
    Mutant("no connection is taken for a lost one", WATCH, "TROUBLE_NO_CREDENTIALS : TROUBLE_UNREACHABLE, e", "TROUBLE_NO_CREDENTIALS : TROUBLE_LOST, e"),
    Mutant("credentials that are not there yet are a server that is not", WATCH,
           "e->status == 401 ? TROUBLE_NO_CREDENTIALS : TROUBLE_UNREACHABLE", "TROUBLE_UNREACHABLE"),
    Mutant("a cache that is emptied while it watches is not listed", WATCH, FORGET + "on_forget,           on_forget,   on_forget, ", FORGET + "on_forget,           on_forget,   nothing, "),
    Mutant("a cache that is emptied while it lists in pages is not listed", WATCH, FORGET + "on_forget,           on_forget,", FORGET + "on_forget,           nothing,"),
    Mutant("a cache that is emptied while a list streams is not listed", WATCH, FORGET + "on_forget, ", FORGET + "nothing, "),
    Mutant("a cache that is emptied while it is stopped is taken for complete", WATCH, "[WATCH_EVENT_FORGET]   = {on_forget,", "[WATCH_EVENT_FORGET]   = {nothing,"),
    Mutant("the half list of a cache that is emptied stays open", WATCH, "WATCH_CANCEL | (is_list(w->state) ? WATCH_REPLACE_ABORT : 0);", "WATCH_CANCEL;"),
    Mutant("the request of a cache that is emptied goes on beside the next", WATCH, "WATCH_CANCEL | (is_list(w->state) ? WATCH_REPLACE_ABORT : 0);", "(is_list(w->state) ? WATCH_REPLACE_ABORT : 0);"),
    Mutant("why there is no list yet is lost with the cache", WATCH, "    w->wait_for_watch = false;\n", "    w->wait_for_watch = false;\n    w->detail[0] = '\\0';\n"),
    Mutant("a page that ends a stream leaves it under way", WATCH, "on_misfit,           on_page,     on_misfit, ", "nothing,             on_page,     nothing, "),
    Mutant("objects of a stream in a list are nothing", WATCH, "on_initial_object,   on_misfit,", "on_initial_object,   nothing,"),
)

TABLE = (
    Mutant("a version that is too old is watched again", RULES, '"resourceVersion is too old",              L,   W,   R}', '"resourceVersion is too old",              L,   W,   A}'),
    Mutant("a mute watch is begun from the same version", RULES, '"headers, then no data",                   P,   L,   R}', '"headers, then no data",                   P,   L,   A}'),
    Mutant("a refused streaming list never becomes pages", RULES, '"request refused",                         P,   L,   RL}', '"request refused",                         L,   L,   RL}'),
    Mutant("what cannot be read is watched again", RULES, '"unreadable data",                         T,   L,   R}', '"unreadable data",                         T,   L,   A}'),
    Mutant("a list that expires is begun again with pages", RULES, '"resourceVersion is too old",              L,   W,   R}', '"resourceVersion is too old",              L,   L,   R}'),
    Mutant("410 is any answer", RULES, "    case 410:\n        return TROUBLE_EXPIRED;\n", ""),
    Mutant("Expired without its number is not known", RULES, 'str_eq(e->reason, "Expired") || ', ""),
    Mutant("any 504 is about a version", RULES, "return e->status == 504 && e->too_large ?", "return e->status == 504 ?"),
    Mutant("the next page is the first again", REQUEST, '"%slimit=%u&continue=%s", w->path, w->page_size, token', '"%slimit=%u&continue=", w->path, w->page_size'),
    Mutant("streams that send no bookmarks are called silent", REQUEST, "if (w->bookmarks_seen)", "if (true)"),
    Mutant("nobody wakes up to see that a quiet watch is in contact", REQUEST, "return w->contact ? due :", "return true ? due :"),
    Mutant("a list in pages has no end of its time", REQUEST, "w->state == WATCH_LISTING ? w->deadlines.list_ms :", "w->state == WATCH_LISTING ? w->deadlines.list_ms * 100 :"),
)

ROOMS = (Room("watch machine", ("test_watch_table", "test_watch", "test_watch_time", "test_watch_pairs"), REQUESTS + REACTIONS + EVENTS + TABLE),)
