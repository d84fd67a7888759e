#include "serve/web_page.h"

#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/digest.h"

/* The assembler reads the file, which the Makefile knows, from the root of the tree, where all compilers run. */
__asm__(".pushsection .rodata\n"
        "web_page_html:\n"
        ".incbin \"src/serve/status.html\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char web_page_html[] __attribute__((visibility("hidden")));

/* Of what stands between the first <tag> and its end, which is what a browser hashes. */
static void hash_of(const char *html, const char *tag, char ret[DIGEST_SHA256_TEXT_BYTES])
{
    cleanup(mem_free_ptr) char *open = mem_printf("<%s>", tag), *close = mem_printf("</%s>", tag);
    const char *from = strstr(html, open);
    const char *to = from != NULL ? strstr(from, close) : NULL;
    if (to == NULL)
        abort(); /* the page was built without its style or script */
    from += strlen(open);
    digest_sha256(from, (size_t)(to - from), ret);
}

void web_page_init(struct web_page *p)
{
    char style[DIGEST_SHA256_TEXT_BYTES], script[DIGEST_SHA256_TEXT_BYTES];
    p->html = web_page_html;
    p->len = strlen(p->html);
    hash_of(p->html, "style", style);
    hash_of(p->html, "script", script);
    p->policy = mem_printf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; connect-src 'self'; "
                           "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                           "require-trusted-types-for 'script'",
                           style, script);
}

void web_page_fini(struct web_page *p)
{
    free(p->policy);
    *p = (struct web_page){0};
}

void web_page_add_headers(const struct web_page *p, struct evkeyvalq *headers)
{
    evhttp_add_header(headers, "Content-Security-Policy", p->policy);
    evhttp_add_header(headers, "X-Frame-Options", "DENY"); /* for browsers that do not know frame-ancestors */
    evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
    evhttp_add_header(headers, "Cross-Origin-Opener-Policy", "same-origin");
}
