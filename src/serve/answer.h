/* How this daemon answers a request: whole, with the same headers each time, and without the body for HEAD. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct evbuffer;
struct evhttp_request;

void answer(struct evhttp_request *req, int status, const char *type, const char *body, size_t len);
void answer_text(struct evhttp_request *req, int status, const char *text);

/* Without a copy: takes over content, which answer_content made. */
struct evbuffer *answer_content(void) must_check;
void answer_with(struct evhttp_request *req, int status, const char *type, struct evbuffer *content);

/* The headers of every answer; for one that is sent in pieces. */
void answer_add_headers(struct evhttp_request *req, const char *type);
bool answer_is_head(const struct evhttp_request *req);

#endif
