/* What an answer of a Data Plane API means for a write. Pure. */
#pragma once

#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/transaction.h"

bool transaction_is_success(const struct dataplane_answer *a);
bool transaction_is_gone(const struct dataplane_answer *a);
/* A 200 of something in between that is not the API (a login page) must not pass for a change, a delete or a commit. */
bool transaction_is_done(const struct dataplane_answer *a);
bool transaction_is_commit_answer(const struct dataplane_answer *a);

/* Of an answer that did not do what was asked in that state. */
enum transaction_result transaction_result_of(enum transaction_state state, const struct dataplane_answer *a);
/* The answer to the DELETE of a transaction may say more about the answer for which it was given up. */
enum transaction_result transaction_result_in_hindsight(const struct transaction *t, const struct dataplane_answer *a);

/* What is wrong with an answer whose status is fine but that is not the API's; NULL: the status is not fine. */
const char *transaction_wrong_answer(const struct dataplane_answer *a);

/* Fills err. but: what is wrong with an answer whose status is fine; NULL otherwise. */
void transaction_explain(struct error *err, const struct dataplane_answer *a, const char *doing, const char *but);
