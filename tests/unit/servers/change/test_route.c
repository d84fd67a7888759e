/* src/servers/change/route: what the file has, what HAProxy runs, what is wished and what is remembered -> calls, writes, transaction. */
#include "../../route_text.h"
#include "servers/change/diff.h"
#include "servers/change/parking.h"

#define HOUR_MS 3600000

enum { CLOSED = 1, QUIET = 2, NO_PARKING = 4, WRITING = 8, STOPPING = 16, HELD_UP = 32 };

struct route_row {
    const char *rule;
    const char *file;
    const char *running; /* see route_text.h; "": all is as the file says */
    const char *desired;
    const char *memory;
    const char *commands;    /* "n1 drain: it drains" */
    const char *updates;     /* "n1 weight 1 -> 2"; "address first" behind one that stays in maintenance */
    const char *transaction; /* why; NULL: none */
    unsigned
        with; /* CLOSED: not open. QUIET: may not write. NO_PARKING: what is out is removed. WRITING, STOPPING: n2 is being
 * written */
};

#define W ":80 check weight 100"
#define N1 "server n1 10.0.0.1" W "\n"
#define N2 "server n2 10.0.0.2" W "\n"
#define N3 "server n3 10.0.0.3" W "\n"
#define P1 "server n1 10.0.0.1" W " disabled\n"
#define P2 "server n2 10.0.0.2" W " disabled\n"
#define P3 "server n3 10.0.0.3" W " disabled\n"
#define W1 "n1 10.0.0.1:80"
#define W2 "; n2 10.0.0.2:80"
#define W3 "; n3 10.0.0.3:80"
#define STAYS ": its removal is delayed by the loss limit"
#define FORGOT ": an operator set it before HAProxy was reloaded"

static const struct route_row rows[] = {
    {"in step", N1 N2, "", W1 W2, "", "", "", NULL, 0},

    /* ---- it drains: the file stays as it is ---- */
    {"it drains", N1 N2, "", W1 W2 " draining", "", "n2 drain: it drains", "", NULL, 0},
    {"it drains already", N1 N2, "n2 drain", W1 W2 " draining", "n2 ours drain", "", "", NULL, 0},
    {"whichever writer did that", N1 N2, "n2 drain", W1 W2 " draining", "n2 theirs drain", "", "", NULL, 0},
    {"an operator's maint is more than a drain", N1 N2, "n2 maint", W1 W2 " draining", "n2 theirs maint", "", "", NULL,
     0},
    {"it was sent, the row is older", N1 N2, "", W1 W2 " draining", "n2 ours drain sent drain", "", "", NULL, 0},
    {"a reload forgot it", N1 N2, "", W1 W2 " draining", "n2 ours drain", "n2 drain: it drains", "", NULL, 0},
    {"it was leaving and is to drain now", N1 N2, "n2 maint", W1 W2 " draining", "n2 ours maint", "n2 drain: it drains",
     "", NULL, 0},
    {"it drains, and moves", N1 N2, "", W1 "; n2 10.0.0.9:80 draining", "", "n2 drain: it drains",
     "n2 address 10.0.0.2 -> 10.0.0.9", NULL, 0},
    {"it drains while something else needs a transaction", N1 N2, "", W1 W2 " draining" W3, "", "n2 drain: it drains",
     "", "server n3 is new", 0},
    {"a line in maintenance that drains stays so", N1 P2, "", W1 W2 " draining", "", "", "", NULL, 0},

    /* ---- it is desired again ---- */
    {"back from a drain of ours", N1 N2, "n2 drain", W1 W2, "n2 ours drain", "n2 ready: it is desired again", "", NULL,
     0},
    {"its line is back, and no reload has come", N1 N2, "n2 maint", W1 W2, "n2 written",
     "n2 ready: it is desired again", "", NULL, 0},
    {"back before it was written", N1 N2, "n2 maint", W1 W2, "n2 ours maint", "n2 ready: it is desired again", "", NULL,
     0},
    {"the row is older than the drain that is to be undone", N1 N2, "", W1 W2, "n2 ours drain sent drain",
     "n2 ready: it is desired again", "", NULL, 0},
    {"it was sent, the row is older", N1 N2, "n2 drain", W1 W2, "n2 sent ready", "", "", NULL, 0},
    {"and is to drain again", N1 N2, "n2 drain", W1 W2 " draining", "n2 sent ready", "n2 drain: it drains", "", NULL,
     0},
    {"nobody knows who did that", N1 N2, "n2 drain", W1 W2, "", "", "", NULL, 0},
    {"a reload forgot the drain that is to be undone", N1 N2, "", W1 W2, "n2 ours drain", "", "", NULL, 0},

    /* ---- an operator's state ---- */
    {"a drain by hand stays", N1 N2, "n2 drain", W1 W2, "n2 theirs drain", "", "", NULL, 0},
    {"a maint by hand stays", N1 N2, "n2 maint", W1 W2, "n2 theirs maint", "", "", NULL, 0},
    {"a reload forgot it", N1 N2, "", W1 W2, "n2 theirs maint lost", "n2 maint" FORGOT, "", NULL, 0},
    {"it was set again, the row is older", N1 N2, "", W1 W2, "n2 theirs maint sent maint", "", "", NULL, 0},
    {"ready by hand: the next reading says that it is taken back", N1 N2, "", W1 W2, "n2 theirs maint", "", "", NULL,
     0},
    {"it drains, and a reload forgot the operator's", N1 N2, "", W1 W2 " draining", "n2 theirs maint lost",
     "n2 maint" FORGOT, "", NULL, 0},
    {"it was parked with an operator's drain, and is back", N1 N2, "", W1 W2, "n2 theirs drain parked",
     "n2 drain" FORGOT, "", NULL, 0},
    {"it was leaving, and the operator's drain was under that", N1 N2, "n2 maint", W1 W2, "n2 theirs drain ours maint",
     "n2 drain" FORGOT, "", NULL, 0},
    {"it leaves from an operator's drain", N1 N2, "n2 drain", W1, "n2 theirs drain",
     "n2 maint: it is no longer desired", "n2 maintenance on (parked)", NULL, 0},
    {"what an operator has set does not keep it from moving", N1 N2, "n2 maint", W1 "; n2 10.0.0.9:80",
     "n2 theirs maint", "", "n2 address 10.0.0.2 -> 10.0.0.9", NULL, 0},
    {"the last one that is ready goes back to what the operator set", N1, "", W1, "n1 theirs maint lost",
     "n1 maint" FORGOT, "", NULL, 0},

    /* ---- it leaves ---- */
    {"it leaves", N1 N2, "", W1, "", "n2 maint: it is no longer desired", "n2 maintenance on (parked)", NULL, 0},
    {"it drained before", N1 N2, "n2 drain", W1, "n2 ours drain", "n2 maint: it is no longer desired",
     "n2 maintenance on (parked)", NULL, 0},
    {"it is sent already", N1 N2, "n2 maint", W1, "n2 ours maint", "", "n2 maintenance on (parked)", NULL, 0},
    {"it was sent, the row is older", N1 N2, "n2 drain", W1, "n2 ours maint sent maint", "",
     "n2 maintenance on (parked)", NULL, 0},
    {"an operator's maint is enough", N1 N2, "n2 maint", W1, "n2 theirs maint", "", "n2 maintenance on (parked)", NULL,
     0},
    {"it is removed", N1 N2, "", W1, "", "n2 maint: it is no longer desired", "", "server n2 is removed", NO_PARKING},
    {"its name is a template's", N1 "server web2 10.0.0.2" W "\nserver-template web 1-3\n", "", W1 "; web2 10.0.0.2:80",
     "", "web2 maint: it is no longer desired", "", "server web2 is removed", 0},
    {"it left already", N1 P2, "", W1, "", "", "", NULL, 0},

    /* ---- haproxy.cfg has it in maintenance ---- */
    {"a parked one runs where a desired one is that does not yet", N1 N2 "server x9 10.0.0.2" W " disabled\n",
     "n2 gone; x9 ready", W1 W2, "", "", "", NULL, 0},
    {"and goes once that does", N1 N2 "server x9 10.0.0.2" W " disabled\n", "x9 ready", W1 W2, "",
     "x9 maint: haproxy.cfg has it in maintenance", "", NULL, 0},
    {"a parked one runs", N1 P2, "n2 ready", W1, "", "n2 maint: haproxy.cfg has it in maintenance", "", NULL, 0},
    {"one that drains by file runs", N1 P2, "n2 ready", W1 W2 " draining", "",
     "n2 maint: haproxy.cfg has it in maintenance", "", NULL, 0},
    {"a parked one in drain", N1 P2, "n2 drain", W1, "", "", "", NULL, 0},
    {"a parked one, sent already", N1 P2, "n2 ready", W1, "n2 ours maint sent maint", "", "", NULL, 0},
    {"what an operator set on it before waits", N1 P2, "", W1, "n2 theirs drain parked", "", "", NULL, 0},
    {"one that is desired runs already", N1 P2, "n2 ready", W1 W2, "", "", "n2 maintenance off", NULL, 0},

    /* ---- it comes back ---- */
    {"out of maintenance", N1 P2, "", W1 W2, "", "", "n2 maintenance off", NULL, 0},
    {"with an operator's state, to be set after", N1 P2, "", W1 W2, "n2 theirs drain parked", "", "n2 maintenance off",
     NULL, 0},
    {"with a weight", N1 P2, "", W1 W2 " weight 5", "", "", "n2 maintenance off, weight 100 -> 5", NULL, 0},
    {"at another address", N1 P2, "", W1 "; n2 10.0.0.9:80", "", "",
     "n2 maintenance off, address 10.0.0.2 -> 10.0.0.9, address first", NULL, 0},
    {"at another port", N1 P2, "", W1 "; n2 10.0.0.2:81", "", "", "n2 maintenance off, port 80 -> 81, address first",
     NULL, 0},

    /* ---- writes and their order ---- */
    {"it moves", N1 N2, "", W1 "; n2 10.0.0.9:81", "", "", "n2 address 10.0.0.2 -> 10.0.0.9, port 80 -> 81", NULL, 0},
    {"a weight", N1 N2, "", W1 W2 " weight 3", "", "", "n2 weight 100 -> 3", NULL, 0},
    {"back and moving, then weights, then those that leave",
     "server n0 10.0.0.10" W "\n" N1 N2 P3 "server n4 10.0.0.4" W "\n", "",
     "n1 10.0.0.1:80 weight 7; n2 10.0.0.9:80; n3 10.0.0.3:80; n4 10.0.0.4:80", "", "n0 maint: it is no longer desired",
     "n2 address 10.0.0.2 -> 10.0.0.9\nn3 maintenance off\nn1 weight 100 -> 7\nn0 maintenance on (parked)", NULL, 0},
    {"calls that bring back come first", N1 N2 N3, "n3 drain", W1 W3, "n3 ours drain",
     "n3 ready: it is desired again\nn2 maint: it is no longer desired", "n2 maintenance on (parked)", NULL, 0},

    /* ---- transactions ---- */
    {"a new one", N1, "", W1 W2, "", "", "", "server n2 is new", 0},
    {"a check", N1 "server n2 10.0.0.2:80 weight 100\n", "", W1 W2, "", "", "", "server n2: check on", 0},
    {"a name moves to an address", N1 "server n2 web.example" W "\n", "", W1 W2, "", "", "",
     "server n2: address web.example -> 10.0.0.2", 0},
    {"the first reason is given", N1, "", W1 W2 W3, "", "", "", "server n2 is new", 0},
    {"the others take effect at once", N1 P2, "", W1 W2 W3, "", "", "n2 maintenance off", "server n3 is new", 0},
    {"settings", "balance leastconn\n" N1, "", W1, "", "", "", "the backend: balance leastconn -> roundrobin", 0},
    {"a backend to be made", "missing\n", "", W1, "", "", "", "the backend is new", 0},
    {"HAProxy does not run it yet", N1 N2, "n2 gone", W1, "", "", "", "HAProxy does not run server n2 yet", 0},
    {"nor can it be sent", N1 N2, "n2 gone", W1 W2 " draining", "", "", "", NULL, 0},

    /* ---- a server has to be ready ---- */
    {"the last one that is ready is not sent away before another is back", N1 P2, "", "n2 10.0.0.2:80", "", "",
     "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"nor to drain", N1 P2, "", W1 " draining" W2, "", "", "n2 maintenance off", NULL, 0},
    {"one that is set to ready is another", N1 N2, "n2 drain", "n2 10.0.0.2:80", "n2 ours drain",
     "n2 ready: it is desired again\nn1 maint: it is no longer desired", "n1 maintenance on (parked)", NULL, 0},
    {"one that an operator has in drain is none", N1 N2, "n2 drain", W1 " draining" W2, "n2 theirs drain", "", "", NULL,
     0},
    {"a backup server is none", N1 P2 "server s1 10.0.0.3:80 backup\n", "", "n2 10.0.0.2:80", "", "",
     "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"a server that is kept is one", N1 P2 "server k1 10.0.0.3:80\n", "", "n2 10.0.0.2:80", "",
     "n1 maint: it is no longer desired", "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"but not without a weight", N1 P2 "server k1 10.0.0.3:80 weight 0\n", "", "n2 10.0.0.2:80", "", "",
     "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"what it runs with counts", N1 P2 "server k1 10.0.0.3:80 weight 5\n", "k1 weight 0", "n2 10.0.0.2:80", "", "",
     "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"it was given one by hand", N1 P2 "server k1 10.0.0.3:80 weight 0\n", "k1 weight 5", "n2 10.0.0.2:80", "",
     "n1 maint: it is no longer desired", "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"who has no address is none", N1 P2 "server k1 10.0.0.3:80\n", "k1 unresolved", "n2 10.0.0.2:80", "", "",
     "n2 maintenance off\nn1 maintenance on (parked)", NULL, 0},
    {"nor is it sent anything", N1 N2 N3, "n2 unresolved", W1 W2 " draining" W3, "", "", "", NULL, 0},
    {"nothing can be written: who was parked is back where it is", N1 P2, "", W1 W2, "",
     "n2 ready: it is desired again", "n2 maintenance off", NULL, HELD_UP},
    {"not at another place", N1 P2, "n2 at 10.0.0.9:80", W1 W2, "", "", "n2 maintenance off", NULL, HELD_UP},
    {"nor who drains", N1 P2, "", W1 W2 " draining", "", "", "", NULL, HELD_UP},
    {"nor whom an operator took out", N1 P2, "", W1 W2, "n2 theirs maint", "", "n2 maintenance off", NULL, HELD_UP},
    {"one of ours without a weight drains and leaves like any other", N1 "server n2 10.0.0.2:80 check weight 0\n" N3,
     "", W1 "; n2 10.0.0.2:80 draining", "", "n2 drain: it drains\nn3 maint: it is no longer desired",
     "n3 maintenance on (parked)", NULL, 0},
    {"of several that leave, too", N1 N2 P3, "", "n3 10.0.0.3:80", "", "",
     "n3 maintenance off\nn1 maintenance on (parked)\nn2 maintenance on (parked)", NULL, 0},
    {"one transaction takes it away and brings the other", N1, "", "n2 10.0.0.2:80", "", "", "", "server n2 is new", 0},
    {"but what comes back before it is enough", N1 P2, "", "n2 10.0.0.2:80; n3 10.0.0.3:80", "", "",
     "n2 maintenance off\nn1 maintenance on (parked)", "server n3 is new", 0},
    {"not where it comes back later, at its address", N1 P2, "", "n2 10.0.0.9:80; n3 10.0.0.3:80", "", "",
     "n2 maintenance off, address 10.0.0.2 -> 10.0.0.9, address first", "server n3 is new", 0},
    {"one that is being written is none, and is sent nothing", N1 N2, "n2 maint", W1 " draining" W2, "n2 ours maint",
     "", "", NULL, WRITING},
    {"but another one is", N1 N2 N3, "n2 maint", W1 " draining" W2 W3, "n2 ours maint", "n1 drain: it drains", "", NULL,
     WRITING},
    {"nor is one that still takes connections while it is written", N1 N2, "", W1 " draining" W2, "", "", "", NULL,
     WRITING},
    {"nor after it was set to ready", N1 N2, "", W1 " draining" W2, "n2 ours drain sent ready", "", "", NULL, STOPPING},
    {"nor is one whose call to stop got no answer", N1 N2, "", "n2 10.0.0.2:80", "n2 ours drain late drain", "", "",
     NULL, 0},
    {"but one that was stopped is, where it is read ready again", N1 N2, "", "n2 10.0.0.2:80", "n2 ours drain",
     "n1 maint: it is no longer desired", "n1 maintenance on (parked)", NULL, 0},
    {"but where it was answered, and it is set to ready", N1 N2, "n2 drain", "n2 10.0.0.2:80",
     "n2 ours drain sent drain", "n2 ready: it is desired again\nn1 maint: it is no longer desired",
     "n1 maintenance on (parked)", NULL, 0},
    {"nor is one that is being sent away", N1 N2, "", W1 " draining" W2, "n2 ours maint", "", "", NULL, STOPPING},
    {"it is set to ready when that is answered", N1 N2, "n2 maint", W1 " draining" W2, "n2 ours maint",
     "n2 ready: it is desired again\nn1 drain: it drains", "", NULL, STOPPING},
    {"where nothing is wished for, the last one goes", N1, "", "", "", "", "n1 maintenance on (parked)", NULL, 0},
    {"what runs against the file stays until the other is back", P1 P2, "n1 ready", W2 + 2, "", "",
     "n2 maintenance off", NULL, 0},
    {"or new, by a reload", P1 N2, "n1 ready; n2 gone", W2 + 2, "", "", "", NULL, 0},
    {"but does not count as needed where none is to come", P1, "n1 ready", "", "",
     "n1 maint: haproxy.cfg has it in maintenance", "", NULL, 0},

    {"nor where an operator keeps that one out", P1 N2, "n1 ready; n2 maint", W2 + 2, "n2 theirs maint",
     "n1 maint: haproxy.cfg has it in maintenance", "", NULL, 0},

    /* ---- not ours, or not known which ---- */
    {"a server that is kept", N1 "server k1 10.0.0.3:80 disabled\n", "k1 ready", W1, "", "", "", NULL, 0},
    {"a backup server", N1 "server s1 10.0.0.3:80 backup\n", "s1 maint", W1, "s1 ours maint", "", "", NULL, 0},
    {"a name on two lines", N1 N2 "server n2 10.0.0.3" W "\n", "", W1 "; n2 10.0.0.2:80 draining", "", "", "", NULL, 0},
    {"and one that leaves", N1 N2 "server n2 10.0.0.3" W "\n", "", W1, "", "", "", "server n2 is removed", 0},

    /* ---- no runtime update, and all goes by transactions ---- */
    {"closed", N1 N2, "", W1, "", "", "", "server n2: maintenance on (parked)", CLOSED},
    {"closed, and it drains", N1 N2, "", W1 W2 " draining", "", "", "", "server n2: maintenance on (draining)", CLOSED},
    {"closed, and ours is to be undone", N1 N2, "n2 drain", W1 W2, "n2 ours drain", "", "", NULL, CLOSED},
    {"closed, in step", N1 N2, "", W1 W2, "", "", "", NULL, CLOSED},
    {"not readable", N1 N2, "unreadable", W1, "", "", "", "server n2: maintenance on (parked)", 0},
    {"nothing may be written", N1 N2, "", W1 W3, "", "", "", NULL, QUIET},
    {"nor sent, of a drain", N1 N2, "", W1 W2 " draining", "", "", "", NULL, QUIET},
    {"nor of its end", N1 N2, "n2 drain", W1 W2, "n2 ours drain", "", "", NULL, QUIET},
    {"nor of an operator's state", N1 N2, "", W1 W2, "n2 theirs drain lost", "", "", NULL, QUIET},
};

/* ---- a row, played ---- */

static char kept[] = "k*";
static char *const globs[] = {kept};

struct world {
    struct backend b;
    struct runtime r;
    struct desired desired;
    struct admin_states memory;
    struct parking *parking;
    struct diff_rules rules;
    struct diff d;
    struct route choice;
};

static void world_make(struct world *w, const struct route_row *row)
{
    *w = (struct world){.parking = row->with & NO_PARKING ? NULL : parking_new(HOUR_MS)};
    text_backend(&w->b, "web", row->file);
    text_runtime(&w->r, &w->b, row->running);
    text_desired(&w->desired, row->desired);
    text_memory(&w->memory, row->memory);
    w->rules = (struct diff_rules){.keep_servers = globs,
                                   .keep_count = array_len(globs),
                                   .allow_empty = true,
                                   .create_backend = true,
                                   .balance = str_has_prefix(row->file, "balance") ? "roundrobin" : NULL,
                                   .parking = w->parking,
                                   .runtime = w->r.readable && !(row->with & CLOSED)};
    if (w->parking != NULL)
        parking_refresh(w->parking, &w->b, &w->desired, &w->rules, NULL, NULL, 1000);
    diff_compute(&w->b, &w->desired, &w->rules, &w->d);
}

static void world_choose(struct world *w, unsigned with)
{
    const struct route_input in = {.actual = &w->b,
                                   .runtime = &w->r,
                                   .desired = &w->desired,
                                   .diff = &w->d,
                                   .rules = &w->rules,
                                   .memory = &w->memory,
                                   .being_written = with & WRITING ? "n2" : NULL,
                                   .being_stopped = with & STOPPING ? "n2" : NULL,
                                   .open = !(with & CLOSED),
                                   .may_write = !(with & QUIET),
                                   .held_up = with & HELD_UP};
    route_choose(&in, &w->choice);
}

static void world_fini(struct world *w)
{
    route_fini(&w->choice);
    route_fini(&w->choice); /* once more is no harm */
    diff_fini(&w->d);
    admin_states_fini(&w->memory);
    desired_fini(&w->desired);
    runtime_fini(&w->r);
    backend_fini(&w->b);
    parking_free(w->parking);
}

static char *text_of_calls(const struct route *c)
{
    struct buf b = {0};
    for (size_t i = 0; i < c->command_count; i++)
        buf_printf(&b, "%s%s %s: %s", i > 0 ? "\n" : "", c->commands[i].name, runtime_admin_name(c->commands[i].state),
                   c->commands[i].why);
    return buf_take(&b);
}

static char *text_of_fast(const struct route *c, const struct diff *d)
{
    struct buf b = {0};
    for (size_t i = 0; i < c->update_count; i++) {
        const struct diff_change *change = &d->changes[c->updates[i].change];
        ck_assert_int_eq(change->op, DIFF_CHANGE);
        buf_printf(&b, "%s%s %s%s", i > 0 ? "\n" : "", change->server.name, change->detail,
                   c->updates[i].keep_maintenance ? ", address first" : "");
    }
    return buf_take(&b);
}

TEST_EACH(every_row, array_len(rows))
{
    const struct route_row *row = &rows[_i];
    cleanup(world_fini) struct world w;
    world_make(&w, row);
    world_choose(&w, row->with);
    cleanup(mem_free_ptr) char *commands = text_of_calls(&w.choice), *updates = text_of_fast(&w.choice, &w.d);
    ck_assert_msg(strcmp(commands, row->commands) == 0, "%s, calls:\n  have %s\n  want %s", row->rule, commands,
                  row->commands);
    ck_assert_msg(strcmp(updates, row->updates) == 0, "%s, writes:\n  have %s\n  want %s", row->rule, updates,
                  row->updates);
    ck_assert_msg(str_eq(w.choice.why, row->transaction), "%s, transaction:\n  have %s\n  want %s", row->rule,
                  w.choice.why, row->transaction);
    ck_assert_msg(w.choice.transaction == (row->transaction != NULL), "%s", row->rule);
}

/* ---- what no row says ---- */

/* n lines of weight 100 that are all to have weight 1 */
static void world_of_weights(struct world *w, unsigned n)
{
    cleanup(buf_fini) struct buf file = {0}, desired = {0};
    for (unsigned i = 0; i < n; i++) {
        buf_printf(&file, "server n%03u 10.0.0.%u" W "\n", i, i);
        buf_printf(&desired, "%sn%03u 10.0.0.%u:80 weight 1", i > 0 ? "; " : "", i, i);
    }
    const struct route_row row = {.file = buf_str(&file), .desired = buf_str(&desired), .running = "", .memory = ""};
    world_make(w, &row);
    world_choose(w, 0);
}

TEST(more_writes_than_a_reload_is_worth)
{
    cleanup(world_fini) struct world few, many;
    world_of_weights(&few, ROUTE_UPDATES_MAX);
    ck_assert_uint_eq(few.choice.update_count, ROUTE_UPDATES_MAX);
    ck_assert(!few.choice.transaction);
    world_of_weights(&many, ROUTE_UPDATES_MAX + 1);
    ck_assert_uint_eq(many.choice.update_count, 0);
    ck_assert(many.choice.transaction);
    ck_assert_str_eq(many.choice.why, "65 changes at once");
}

/* Held back by the loss limit: it is not among the changes any more. */
TEST(who_is_delayed_is_sent_nothing)
{
    const struct route_row row = {.file = N1 N2, .running = "", .desired = W1, .memory = ""};
    cleanup(world_fini) struct world w;
    world_make(&w, &row);
    ck_assert(!diff_withhold_losses(&w.d, NULL, NULL));
    world_choose(&w, 0);
    ck_assert_uint_eq(w.choice.command_count, 0);
    ck_assert(!w.choice.transaction);
}

/* Held means serving, whatever it was sent before. */
static const struct route_row held_rows[] = {
    {"it was sent away", N1 N2, "n2 maint", W1, "n2 ours maint", "n2 ready" STAYS, "", NULL, 0},
    {"the row is older than that", N1 N2, "", W1, "n2 ours maint sent maint", "n2 ready" STAYS, "", NULL, 0},
    {"it drained", N1 N2, "n2 drain", W1, "n2 ours drain", "n2 ready" STAYS, "", NULL, 0},
    {"it is ready again", N1 N2, "", W1, "n2 ours maint", "", "", NULL, 0},
    {"sent, the row is older", N1 N2, "n2 maint", W1, "n2 sent ready", "", "", NULL, 0},
    {"an operator did it", N1 N2, "n2 maint", W1, "n2 theirs maint", "", "", NULL, 0},
    {"nobody knows who did it", N1 N2, "n2 maint", W1, "", "", "", NULL, 0},
    {"its line is in maintenance", N1 P2, "n2 maint", W1, "n2 ours maint", "", "", NULL, 0},
    {"beside one that comes", N1 N2, "n2 maint", W1 W3, "n2 ours maint", "n2 ready" STAYS, "", "server n3 is new", 0},
};

TEST_EACH(who_is_delayed_serves, array_len(held_rows))
{
    cleanup(world_fini) struct world w;
    world_make(&w, &held_rows[_i]);
    (void)diff_withhold_losses(&w.d, NULL, NULL);
    world_choose(&w, 0);
    cleanup(mem_free_ptr) char *commands = text_of_calls(&w.choice);
    ck_assert_msg(str_eq(commands, held_rows[_i].commands), "%s: %s", held_rows[_i].rule, commands);
    ck_assert_str_eq(w.choice.why != NULL ? w.choice.why : "",
                     held_rows[_i].transaction != NULL ? held_rows[_i].transaction : "");
}

TEST(who_is_delayed_keeps_what_an_operator_set)
{
    const struct route_row row = {.file = N1 N2, .running = "", .desired = W1, .memory = "n2 theirs drain lost"};
    cleanup(world_fini) struct world w;
    world_make(&w, &row);
    ck_assert(!diff_withhold_losses(&w.d, NULL, NULL));
    world_choose(&w, 0);
    cleanup(mem_free_ptr) char *commands = text_of_calls(&w.choice);
    ck_assert_str_eq(commands, "n2 drain" FORGOT);
}

TEST(what_is_parked_long_enough_waits_for_another_transaction)
{
    const struct route_row alone = {.file = N1 P2, .running = "n2 ready", .desired = W1, .memory = ""};
    cleanup(world_fini) struct world w;
    world_make(&w, &alone);
    parking_refresh(w.parking, &w.b, &w.desired, &w.rules, NULL, NULL, 1000 + HOUR_MS);
    diff_fini(&w.d);
    w.rules.runtime = false; /* then it is among the changes */
    w.rules.balance = "roundrobin";
    diff_compute(&w.b, &w.desired, &w.rules, &w.d);
    ck_assert_uint_eq(w.d.change_count, 1);
    ck_assert(w.d.changes[0].lazy);
    world_choose(&w, 0);
    ck_assert_str_eq(w.choice.why, "the backend: balance (none) -> roundrobin");
    route_fini(&w.choice);
    w.d.backend_change = false;
    world_choose(&w, 0);
    ck_assert(!w.choice.transaction);
    route_fini(&w.choice);
    world_choose(&w, CLOSED);
    ck_assert(!w.choice.transaction);
}

/* A verdict without changes says by itself that nothing is to be done, drains among it. */
TEST(a_hold_and_a_refusal_send_nothing)
{
    static const enum diff_verdict verdicts[] = {DIFF_NO_ENDPOINT, DIFF_REFUSE};
    for (size_t i = 0; i < array_len(verdicts); i++) {
        const struct route_row row = {.file = N1 N2, .running = "", .desired = W1 W2 " draining", .memory = ""};
        cleanup(world_fini) struct world w;
        world_make(&w, &row);
        w.d.verdict = verdicts[i];
        world_choose(&w, 0);
        ck_assert_uint_eq(w.choice.command_count, 0);
    }
}
