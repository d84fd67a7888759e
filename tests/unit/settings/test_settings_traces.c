/* Settings of traces: src/settings/traces.c, and how the secret among them is shown. */

#include "../settings_text.h"

#define BESIDE "HAPROXY_DATAPLANE_TOKEN=t"

TEST(where_they_go)
{
    static const struct {
        const char *base, *url;
    } rows[] = {
        {"", NULL}, {"http://c:4318", "http://c:4318/v1/traces"}, {"https://c/otlp//", "https://c/otlp/v1/traces"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *base = mem_printf("OTEL_EXPORTER_OTLP_ENDPOINT=%s", rows[i].base);
        struct parsed p = parse(BESIDE, base);
        assert_silent(&p);
        cleanup(mem_free_ptr) char *url = settings_traces_url(&p.settings.traces);
        ck_assert_msg(str_eq(url, rows[i].url), "%s", url);
        parsed_fini(&p);
    }
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *given, *says;
    } rows[] = {
        {"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "error: OTEL_EXPORTER_OTLP_ENDPOINT"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:hunter2@c:4318", "must not contain a user name or password"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://c", "neither http nor https"},
        {"OTEL_RESOURCE_ATTRIBUTES=a=b,c", "an entry has no '='"},
        {"OTEL_RESOURCE_ATTRIBUTES=a=%4", "two hexadecimal digits"},
        {"OTEL_RESOURCE_ATTRIBUTES=a=%00b", "no text of one line"},
        {"OTEL_EXPORTER_OTLP_HEADERS=a b=hunter2", "names of headers"},
        {"OTEL_EXPORTER_OTLP_HEADERS=a=hunter2%0d%0ab: c", "no text of one line"},
        {"OTEL_EXPORTER_OTLP_HEADERS=,", "there is none in it"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct parsed p = parse(BESIDE, rows[i].given);
        assert_says(&p, rows[i].says);
        assert_does_not_say(&p, "hunter2");
        parsed_fini(&p);
    }
}

TEST(the_headers_are_a_secret)
{
    struct parsed p = parse(BESIDE, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20hunter2");
    assert_silent(&p);
    cleanup(mem_free_ptr) char *shown = printed(&p.settings);
    ck_assert_ptr_nonnull(strstr(shown, "OTEL_EXPORTER_OTLP_HEADERS=***"));
    ck_assert_ptr_null(strstr(shown, "hunter2"));
    ck_assert_str_eq(p.settings.traces.headers.value, "authorization=Bearer%20hunter2");
    parsed_fini(&p);
}

TEST(pairs_are_decoded)
{
    struct settings_pairs pairs;
    const char *why;
    ck_assert_int_eq(settings_pairs_parse(" %41a = %25b%C3%a4 c ,, d=,e=f=g ", &pairs, &why), 0);
    ck_assert_uint_eq(pairs.count, 3);
    ck_assert_str_eq(pairs.list[0].key, "Aa");
    ck_assert_str_eq(pairs.list[0].value, "%b\xc3\xa4 c");
    ck_assert_str_eq(pairs.list[1].value, "");
    ck_assert_str_eq(pairs.list[2].value, "f=g");
    settings_pairs_fini(&pairs);
    ck_assert_int_eq(settings_pairs_parse("a=1,=2", &pairs, &why), -1);
    ck_assert_uint_eq(pairs.count, 0);
}
