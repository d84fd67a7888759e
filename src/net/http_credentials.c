/* Who we are to the server. No longer in memory than has to be, and not shown where the server repeats it: what is no
 * HTTP API (a debugging page, a proxy) may repeat the request in its answer, and what a server says of a failure is
 * logged. */
#include <string.h>

#include "base/mem.h"
#include "base/base64.h"
#include "net/http_internal.h"

#define STARS 3u /* what stands in its place */
/* A shorter one would be found in what is not it, and is no secret to speak of. */
#define PROOF_MIN_BYTES 8

/* As curl sends them. Without the padding, which a page may escape. */
static char *proof_of(const char *user, const char *password)
{
    char *head = mem_join(user, ":"), *both = mem_join(head, password), *proof = base64_encode(both, strlen(both));
    mem_wipe_free(head);
    mem_wipe_free(both);
    proof[strcspn(proof, "=")] = '\0';
    return proof;
}

void http_set_credentials(struct http_request *q, const struct http_request_options *o)
{
    if (o->bearer_token != NULL) {
        char *line = mem_join("Authorization: Bearer ", o->bearer_token);
        q->headers = curl_slist_append(q->headers, line);
        mem_wipe_free(line);
        q->proof = mem_strdup(o->bearer_token);
    } else if (o->basic_user != NULL) {
        const char *password = o->basic_password != NULL ? o->basic_password : "";
        curl_easy_setopt(q->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(q->easy, CURLOPT_USERNAME, o->basic_user);
        curl_easy_setopt(q->easy, CURLOPT_PASSWORD, password);
        q->proof = proof_of(o->basic_user, password);
    }
}

void http_wipe_credentials(struct http_request *q)
{
    for (struct curl_slist *h = q->headers; h != NULL; h = h->next)
        explicit_bzero(h->data, strlen(h->data)); /* the bearer token is among them */
    if (q->key_pem != NULL)
        explicit_bzero(q->key_pem, strlen(q->key_pem));
    mem_wipe_free(q->proof);
    q->proof = NULL;
}

size_t http_hide_credentials(const struct http_request *q, char *bytes, size_t len)
{
    size_t proof = q->proof != NULL ? strlen(q->proof) : 0;
    if (proof < PROOF_MIN_BYTES)
        return len;
    for (char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), q->proof, proof)) != NULL; at += STARS) {
        size_t behind = len - (size_t)(at - bytes) - proof;
        memset(at, '*', STARS);
        memmove(at + STARS, at + proof, behind);
        len -= proof - STARS;
    }
    return len;
}
