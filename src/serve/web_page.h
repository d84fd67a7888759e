/*
 * The status page (status.html): one file in the binary as it is, and the headers that isolate it. What it shows comes
 * from other servers: the policy lets its own style and script run, by their hashes, and nothing else, and lets it
 * fetch from here alone.
 */
#ifndef SERVE_WEB_PAGE_H
#define SERVE_WEB_PAGE_H

#include <stddef.h>

struct evkeyvalq;

struct web_page {
    const char *html; /* constant */
    size_t len;
    char *policy; /* Content-Security-Policy */
};

void web_page_init(struct web_page *p);
void web_page_fini(struct web_page *p); /* a zeroed one is allowed */

/* Without those that every answer has. */
void web_page_add_headers(const struct web_page *p, struct evkeyvalq *headers);

#endif
