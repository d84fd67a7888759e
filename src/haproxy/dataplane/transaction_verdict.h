/* What an answer means for a transaction: for haproxy/dataplane/transaction only. Pure. */
#ifndef HAPROXY_DATAPLANE_TRANSACTION_VERDICT_H
#define HAPROXY_DATAPLANE_TRANSACTION_VERDICT_H

#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/transaction.h"

bool txn_is_success(const struct dataplane_answer *a);
bool txn_is_gone(const struct dataplane_answer *a);
/* A 200 of something in between that is not the API (a login page) must not pass for a change, a delete or a commit. */
bool txn_is_done(const struct dataplane_answer *a);
bool txn_is_commit_answer(const struct dataplane_answer *a);

/* Of an answer that did not do what was asked in that state. */
enum txn_result txn_result_of(enum txn_state state, const struct dataplane_answer *a);
/* The answer to the DELETE of our transaction may say more about the answer that made us give it up. */
enum txn_result txn_result_in_hindsight(const struct txn *t, const struct dataplane_answer *a);

/* What is wrong with an answer whose status is fine but that is not the API's; NULL: the status is not fine. */
const char *txn_wrong_answer(const struct dataplane_answer *a);

/* Fills err. but: what is wrong with an answer whose status is fine; NULL otherwise. */
void txn_explain(struct error *err, const struct dataplane_answer *a, const char *doing, const char *but);

#endif
