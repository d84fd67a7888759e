#include "base/base64.h"

#include "../test.h"

#define A60 "012345678901234567890123456789012345678901234567890123456789"

/* RFC 4648, section 10, and what must not pass. text NULL: refused. */
static const struct {
    const char *base64, *text;
} rows[] = {
    {"Zg==", "f"},
    {"Zm8=", "fo"},
    {"Zm9v", "foo"},
    {"Zm9vYg==", "foob"},
    {"Zm9vYmE=", "fooba"},
    {"Zm9vYmFy", "foobar"},
    {" Zm9v\nYmFy\r\n\t", "foobar"},
    {"Z\nm9v", "foo"},
    {"w6Qr/w==", "\xc3\xa4+\xff"},
    {"", NULL},
    {" \n", NULL},
    {"Z", NULL},
    {"Zg", NULL},
    {"Zg=", NULL},
    {"Zg===", NULL},
    {"====", NULL},
    {"=", NULL},
    {"Zg==Zg==", NULL},
    {"Z===", NULL},
    {"Z=g=", NULL},
    {"==Zg", NULL},
    {"Zg==\n", "f"},
    {"Zg=\n=", "f"},
    {"Zg== Zg==", NULL},
    {"Zm9v=", NULL},
    {"Zm9v==", NULL},
    {"Zm9v-", NULL},
    {"Zm9v\n-", NULL},
    /* More than the 64 characters that OpenSSL takes together. */
    {"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5", A60},
    {"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3\nODkwMTIzNDU2Nzg5", A60},
    {"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY=Nzg5MDEyMzQ1Njc4", NULL},
    {"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY=\nNzg5MDEyMzQ1Njc4", NULL},
    {"Zm9v----", NULL},
    {"Zm_v", NULL},
    {"Zm9\x80", NULL},
    {"AA==", NULL},
    {"ZgBn", NULL},
    {"AAAA", NULL},
};

TEST_EACH(text_is_decoded, array_len(rows))
{
    cleanup(mem_free_ptr) char *text = base64_decode_text(rows[_i].base64);
    ck_assert_msg(str_eq(text, rows[_i].text), "\"%s\": %s", rows[_i].base64, text != NULL ? text : "(refused)");
}

TEST_EACH(text_is_encoded, array_len(rows))
{
    if (rows[_i].text == NULL || strpbrk(rows[_i].base64, " \n") != NULL)
        return;
    cleanup(mem_free_ptr) char *base64 = base64_encode(rows[_i].text, strlen(rows[_i].text));
    ck_assert_str_eq(base64, rows[_i].base64);
}
