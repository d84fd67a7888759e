#include "serve/answer.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TEXT "text/plain; charset=utf-8"

void answer_add_headers(struct evhttp_request *req, const char *type)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
    evhttp_add_header(headers, "Connection", "close");
}

struct evbuffer *answer_content(void)
{
    struct evbuffer *content = evbuffer_new();
    if (content == NULL)
        abort(); /* out of memory */
    return content;
}

bool answer_is_head(const struct evhttp_request *req)
{
    return evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;
}

void answer_with(struct evhttp_request *req, int status, const char *type, struct evbuffer *content)
{
    size_t len = evbuffer_get_length(content);
    cleanup(mem_free_ptr) char *length = mem_printf("%zu", len);
    if (answer_is_head(req) && evbuffer_drain(content, len) != 0)
        abort();
    answer_add_headers(req, type);
    evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Length", length);
    evhttp_send_reply(req, status, NULL, content);
    evbuffer_free(content);
}

void answer(struct evhttp_request *req, int status, const char *type, const char *body, size_t len)
{
    struct evbuffer *content = answer_content();
    if (evbuffer_add(content, body, len) != 0)
        abort(); /* out of memory */
    answer_with(req, status, type, content);
}

void answer_text(struct evhttp_request *req, int status, const char *text)
{
    answer(req, status, TEXT, text, strlen(text));
}
