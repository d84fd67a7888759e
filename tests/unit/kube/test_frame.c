#include "kube/frame.h"

#include "../test.h"

/* Frames as text: "{..}|{..}|", then a list's envelope, then the error's kind where there is one. */
struct collected {
    struct buf text;
    size_t count, stop_at; /* 0: never */
};

static int collect(void *arg, char *json, size_t len, struct error *err)
{
    struct collected *c = arg;
    for (size_t i = 0; i < FRAME_PADDING_BYTES; i++)
        ck_assert_int_eq(json[len + i], 0);
    buf_addn(&c->text, json, len);
    buf_add(&c->text, "|");
    memset(json, 'x', len + FRAME_PADDING_BYTES); /* it is ours to write to */
    if (++c->count == c->stop_at)
        return error_set(err, ERROR_RETRY, "stopped");
    return 0;
}

/* cuts: bit n set: a piece ends behind byte n (for short texts); else pieces of `piece` bytes. */
static char *split(enum frame_mode mode, const char *text, size_t len, size_t piece, uint64_t cuts, size_t cap)
{
    struct frame f;
    struct collected c = {.count = 0};
    struct error err = {ERROR_NONE, 0, ""};
    int result = 0;
    frame_init(&f, mode, cap);
    buf_init(&c.text, 0);
    for (size_t at = 0, end; at < len && result == 0; at = end) {
        end = at + 1;
        while (end < len && (piece != 0 ? end - at < piece : (cuts >> (end - 1) & 1) == 0))
            end++;
        char *copy = malloc(end - at); /* exactly: a step over its end shows */
        memcpy(copy, text + at, end - at);
        result = frame_feed(&f, copy, end - at, collect, &c, &err);
        free(copy);
    }
    if (result == 0)
        result = frame_end(&f, &err);
    ck_assert_uint_eq(f.frames, c.count);
    if (mode == FRAME_LIST && result == 0)
        buf_add(&c.text, buf_str(&f.envelope));
    if (result != 0)
        buf_printf(&c.text, "%s%s", c.text.len > 0 ? " " : "", error_kind_name(err.kind));
    frame_fini(&f);
    return buf_take(&c.text);
}

struct row {
    const char *text, *want; /* with ' for " */
};

static void check(enum frame_mode mode, const char *text, size_t piece, uint64_t cuts, const char *want)
{
    cleanup(mem_free_ptr) char *got = split(mode, text, strlen(text), piece, cuts, 0);
    ck_assert_msg(strcmp(got, want) == 0, "%s\npieces of %zu, cuts %llx\n got: %s\nwant: %s", text, piece,
                  (unsigned long long)cuts, got, want);
}

/* Whole, one byte at a time, in every two and three pieces; short ones in every way there is. */
static void check_rows(enum frame_mode mode, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup(mem_free_ptr) char *text = mem_strdup(rows[i].text), *want = mem_strdup(rows[i].want);
        for (char *c = text; *c != '\0'; c++)
            *c = *c == '\'' ? '"' : *c;
        for (char *c = want; *c != '\0'; c++)
            *c = *c == '\'' ? '"' : *c;
        size_t len = strlen(text);
        check(mode, text, len + 1, 0, want);
        check(mode, text, 1, 0, want);
        ck_assert_uint_le(len, 64);
        if (len <= 9) {
            for (uint64_t cuts = 0; cuts < UINT64_C(1) << (len > 0 ? len - 1 : 0); cuts++)
                check(mode, text, 0, cuts, want);
            continue;
        }
        for (size_t a = 0; a + 1 < len; a++)
            for (size_t b = a; b + 1 < len; b++)
                check(mode, text, 0, UINT64_C(1) << a | UINT64_C(1) << b, want);
    }
}

TEST(watch_streams_and_others)
{
    static const struct row rows[] = {
        /* watch streams */
        {"", ""},
        {"{}", "{}|"},
        {"{}\n{}\n", "{}|{}|"},
        {"\n\n{}\r\n\r\n", "{}|"},
        {"{'a':1}\n{'b':[{}]}\n", "{'a':1}|{'b':[{}]}|"},
        {"{\n 'a': [\n1, 2 ]\n}\n{}", "{\n 'a': [\n1, 2 ]\n}|{}|"},
        {"{'}{][':']}'}{}", "{'}{][':']}'}|{}|"},
        {"{'a':'\\\\'}{}", "{'a':'\\\\'}|{}|"},
        {"{'a':'\\\\\\'}\\\\'}{}", "{'a':'\\\\\\'}\\\\'}|{}|"},
        {"{'\\u007d':'\\u0022}'}{}", "{'\\u007d':'\\u0022}'}|{}|"},
        {"{'\xc3\xbc\xf0\x9f\x90\x8b':'\xe2\x82\xac}'}{}", "{'\xc3\xbc\xf0\x9f\x90\x8b':'\xe2\x82\xac}'}|{}|"},
        /* what is inside is a parser's business */
        {"{]{}\n", "{]|{}|"},
        /* what is no watch stream */
        {"x", "invalid"},
        {"{}x{}", "{}| invalid"},
        {"[{}]", "invalid"},
        {"{}\n,{}", "{}| invalid"},
        {"'{}'", "invalid"},
        {"<html>", "invalid"},
        {"{}}", "{}| invalid"},
        {"\xef\xbb\xbf{}", "invalid"},
        {"null\n{}", "invalid"},
        {"{", "retry"},
        {"{}\n{'a':", "{}| retry"},
        {"{'a':'}", "retry"},
        {"{'a':'\\'}", "retry"},
        {"{[}", "retry"},
    };
    check_rows(FRAME_WATCH, rows, array_len(rows));
}

TEST(lists_and_others)
{
    static const struct row rows[] = {
        /* lists */
        {"{'items':[]}", "{'items':[]}"},
        {"{'items':[{}]}", "{}|{'items':[]}"},
        {"{'items':[{'a':1},{'b':[2]}]}\n", "{'a':1}|{'b':[2]}|{'items':[]}"},
        {"{'kind':'L','metadata':{'r':'1'},'items':[{}]}", "{}|{'kind':'L','metadata':{'r':'1'},'items':[]}"},
        {"{'items':[{}],'metadata':{'r':'1'},'n':[1,2]}", "{}|{'items':[],'metadata':{'r':'1'},'n':[1,2]}"},
        {"{'items':null,'a':1}", "{'items':null,'a':1}"},
        {"{'items':{'items':[{}]}}", "{'items':{'items':[{}]}}"},
        {"{'a':{'items':[{}]},'b':[[{}]]}", "{'a':{'items':[{}]},'b':[[{}]]}"},
        {"{'items':[{'items':[{}]}]}", "{'items':[{}]}|{'items':[]}"},
        {"{'a':'items','b':[{}]}", "{'a':'items','b':[{}]}"},
        {"{'a':'items:[{}]','items':[{'b':']}'}]}", "{'b':']}'}|{'a':'items:[{}]','items':[]}"},
        {"{'a\\'items':[{}],'items':[]}", "{'a\\'items':[{}],'items':[]}"},
        {"{'itemsx':[{}],'xitems':[{}],'item':[{}]}", "{'itemsx':[{}],'xitems':[{}],'item':[{}]}"},
        {"{'\xc3\xbc':'\xf0\x9f\x90\x8b}','items':[{'\\\\':'\\''}]}",
         "{'\\\\':'\\''}|{'\xc3\xbc':'\xf0\x9f\x90\x8b}','items':[]}"},
        {"{}", "{}"},
        /* a Status instead of a list, and what only a parser can judge */
        {"{'kind':'Status','code':504,'details':{'c':[]}}", "{'kind':'Status','code':504,'details':{'c':[]}}"},
        {"{'items'[{}]}", "{'items'[{}]}"},
        {"{'items':null,[{}]}", "{'items':null,[{}]}"},
        {"{'items':[{}][{}]}", "{}|{'items':[][{}]}"},
        {"{'items':[{}],'items':[{'b':1}]}", "{}|{'b':1}|{'items':[],'items':[]}"},
        /* what is no list */
        {"", "retry"},
        {"[]", "invalid"},
        {"{'items':[1]}", "invalid"},
        {"{'items':[[{}]]}", "invalid"},
        {"{'items':[,{}]}", "invalid"},
        {"{'items':[{},]}", "{}| invalid"},
        {"{'items':[{}{}]}", "{}| invalid"},
        {"{'items':[{}}", "{}| invalid"},
        {"{'items':[]}{}", "invalid"},
        {"{'ite", "retry"},
        {"{'items'", "retry"},
        {"{'items':[", "retry"},
        {"{'items':[{}", "{}| retry"},
        {"{'items':[{}]", "{}| retry"},
        {"{'items':[{}],'metadata':{", "{}| retry"},
    };
    check_rows(FRAME_LIST, rows, array_len(rows));
}

/* ---- caps ---- */

static char *object_of(size_t len)
{
    char *s = mem_alloc(len + 1);
    memset(s, 'x', len);
    s[0] = '{';
    s[1] = s[len - 2] = '"';
    s[len - 1] = '}';
    return s;
}

TEST(an_object_over_the_cap)
{
    for (size_t piece = 1; piece <= 512; piece = piece < 4 ? piece + 1 : piece * 2) {
        cleanup(mem_free_ptr) char *fits = object_of(200), *larger = object_of(201);
        cleanup(mem_free_ptr) char *got = split(FRAME_WATCH, fits, 200, piece, 0, 200);
        ck_assert_uint_eq(strlen(got), 201);
        cleanup(mem_free_ptr) char *refused = split(FRAME_WATCH, larger, 201, piece, 0, 200);
        ck_assert_str_eq(refused, "invalid");
        cleanup(mem_free_ptr) char *list = mem_printf("{\"items\":[{},%s]}", larger);
        cleanup(mem_free_ptr) char *listed = split(FRAME_LIST, list, strlen(list), piece, 0, 200);
        ck_assert_str_eq(listed, "{}| invalid");
    }
}

TEST(an_envelope_over_the_cap)
{
    static const char *const around[][2] = {
        {"{\"kind\":", ",\"items\":[{}]}"}, {"{\"items\":[{}],\"m\":", "}"}, {"{\"items\":[{}],", ":1}"}};
    for (size_t i = 0; i < array_len(around); i++)
        for (size_t size = 150; size <= 250; size++) {
            cleanup(mem_free_ptr) char *inner = object_of(size);
            if (i == 2) /* a key as long as that */
                inner[0] = inner[size - 1] = ' ';
            cleanup(mem_free_ptr) char *list = mem_printf("%s%s%s", around[i][0], inner, around[i][1]);
            size_t envelope = strlen(list) - strlen("{}");
            for (size_t piece = 1; piece < 400; piece += 57) {
                cleanup(mem_free_ptr) char *got = split(FRAME_LIST, list, strlen(list), piece, 0, 200);
                ck_assert_msg(str_has_suffix(got, "invalid") == (envelope > 200), "%zu, %zu: %s", i, envelope, got);
            }
        }
}

static const char *message_of(enum frame_mode mode, const char *text, size_t cap, struct error *err)
{
    struct frame f;
    struct collected c = {.count = 0};
    buf_init(&c.text, 0);
    frame_init(&f, mode, cap);
    if (frame_feed(&f, "{} ", mode == FRAME_WATCH ? 3 : 0, collect, &c, err) == 0 &&
        frame_feed(&f, text, strlen(text), collect, &c, err) == 0)
        ck_assert_int_eq(frame_end(&f, err), -1);
    frame_fini(&f);
    buf_fini(&c.text);
    return err->message;
}

TEST(messages_say_what_and_where)
{
    ck_assert_str_eq(
        message_of(FRAME_WATCH, "\n{}  <html>", 0, &flaw),
        "byte 8 of the answer is < where the { of an object was expected: this is not what the Kubernetes API "
        "sends; is there a proxy in between?");
    ck_assert(strstr(message_of(FRAME_WATCH, "\x1b[31m", 0, &flaw), "byte 3 of the answer is 0x1b where") != NULL);
    ck_assert(strstr(message_of(FRAME_LIST, "{\"items\":[{} {}]}", 0, &flaw),
                     "byte 13 of the answer is { where a comma or the ] of items was expected") != NULL);
    ck_assert(strstr(message_of(FRAME_LIST, "{\"items\":[7]}", 0, &flaw),
                     "byte 10 of the answer is 7 where the { of an item was expected") != NULL);
    ck_assert_str_eq(message_of(FRAME_WATCH, "{\"aaaaaaaaaaaaaaaaaaa\":1}", 20, &flaw),
                     "at byte 3 of the answer: an object has 25 bytes, at most 20 are accepted");
    ck_assert_str_eq(message_of(FRAME_WATCH, "{\"aaaaaaaaaaaaaaaaaaaa", 20, &flaw),
                     "at byte 3 of the answer: an object has at least 22 bytes, at most 20 are accepted");
    ck_assert_str_eq(
        message_of(FRAME_LIST, "{\"aaaaaaaaaaaaaaaaaaa\":1}", 20, &flaw),
        "at byte 1 of the answer: what is around the items of this list has more than the limit of 20 bytes");
    ck_assert_str_eq(message_of(FRAME_WATCH, "{\"a\":", 0, &flaw),
                     "the answer ended after 8 bytes, inside an object of which there were 5 bytes");
    ck_assert_str_eq(message_of(FRAME_LIST, "{\"items\":[{},{}", 0, &flaw),
                     "the answer ended after 15 bytes and 2 items, before the list was complete");
    ck_assert_str_eq(message_of(FRAME_LIST, "", 0, &flaw), "the answer ended after 0 bytes, before the list began");
}

TEST(nesting_over_the_limit)
{
    char deep[2 * SCAN_MAX_DEPTH + 3];
    for (unsigned more = 0; more < 2; more++) {
        size_t opens = SCAN_MAX_DEPTH - 1 + more;
        memset(deep, '[', opens + 1);
        memset(deep + opens + 1, ']', opens + 1);
        deep[0] = '{';
        deep[2 * opens + 1] = '}';
        cleanup(mem_free_ptr) char *got = split(FRAME_WATCH, deep, 2 * opens + 2, 7, 0, 0);
        ck_assert_uint_eq(strcmp(got, "invalid") == 0, more);
    }
    deep[sizeof(deep) - 1] = '\0';
    ck_assert(strstr(message_of(FRAME_WATCH, deep, 0, &flaw),
                     "at byte 259 of the answer: brackets are nested more than 256 deep"));
    cleanup(mem_free_ptr) char *list = mem_printf("{\"metadata\":%.*s", (int)SCAN_MAX_DEPTH + 2, deep);
    cleanup(mem_free_ptr) char *got = split(FRAME_LIST, list, strlen(list), 5, 0, 0);
    ck_assert_str_eq(got, "invalid");
}

/* ---- memory, and ends ---- */

static int measure(void *arg, char *json, size_t len, struct error *err)
{
    *(size_t *)arg += len;
    return 0;
}

static void feed_object(struct frame *f, size_t len, size_t piece, size_t *total)
{
    cleanup(mem_free_ptr) char *s = object_of(len);
    for (size_t at = 0; at < len; at += piece)
        ck_assert_int_eq(frame_feed(f, s + at, len - at < piece ? len - at : piece, measure, total, &flaw), 0);
}

TEST(a_line_of_5_megabytes_is_given_back)
{
    static const size_t pieces[] = {1u << 24, 16384, 4093, 61};
    for (size_t i = 0; i < array_len(pieces); i++) {
        struct frame f;
        size_t total = 0;
        frame_init(&f, FRAME_WATCH, 0);
        feed_object(&f, 15000, 16384, &total);
        size_t usual = f.object.size;
        feed_object(&f, 14000, 16384, &total);
        ck_assert_msg(usual > 15000 && f.object.size == usual, "what fits is used again");
        feed_object(&f, 5000000, pieces[i], &total);
        ck_assert_uint_le(f.object.size, FRAME_KEEP_BYTES);
        feed_object(&f, 15000, 16384, &total);
        ck_assert_uint_eq(total, 15000 + 14000 + 5000000 + 15000);
        ck_assert_int_eq(frame_end(&f, &flaw), 0);
        frame_fini(&f);
    }
}

TEST(the_largest_object)
{
    struct frame f;
    size_t total = 0;
    frame_init(&f, FRAME_WATCH, 0);
    feed_object(&f, FRAME_MAX_OBJECT_BYTES, 1u << 20, &total);
    ck_assert_uint_eq(total, FRAME_MAX_OBJECT_BYTES);
    cleanup(mem_free_ptr) char *s = object_of(FRAME_MAX_OBJECT_BYTES + 1);
    ck_assert_int_eq(frame_feed(&f, s, FRAME_MAX_OBJECT_BYTES + 1, measure, &total, &flaw), -1);
    ck_assert(flaw.kind == ERROR_INVALID && strstr(flaw.message, "at most 16777216 are accepted") != NULL);
    frame_fini(&f);
}

TEST(a_callback_that_stops)
{
    for (size_t stop_at = 1; stop_at <= 3; stop_at++)
        for (int mode = FRAME_WATCH; mode <= FRAME_LIST; mode++) {
            const char *text = mode == FRAME_LIST ? "{\"items\":[{},{},{}]}" : "{}\n{}\n{}\n";
            struct frame f;
            struct error err = {ERROR_NONE, 0, ""};
            struct collected c = {.stop_at = stop_at};
            buf_init(&c.text, 0);
            frame_init(&f, (enum frame_mode)mode, 0);
            ck_assert_int_eq(frame_feed(&f, text, strlen(text), collect, &c, &err), -1);
            ck_assert(err.kind == ERROR_RETRY && strcmp(err.message, "stopped") == 0 && c.count == stop_at);
            ck_assert_int_eq(frame_feed(&f, "{}", 2, collect, &c, &err), -1);
            ck_assert(err.kind == ERROR_INVALID && c.count == stop_at);
            ck_assert_int_eq(frame_end(&f, &err), -1);
            frame_fini(&f);
            buf_fini(&c.text);
        }
}

TEST(an_end_of_a_list_is_known_before_the_stream_ends)
{
    struct frame f;
    size_t total = 0;
    frame_init(&f, FRAME_LIST, 0);
    ck_assert_int_eq(frame_feed(&f, "{\"items\":[{}]", 13, measure, &total, &flaw), 0);
    ck_assert(!f.finished && f.frames == 1);
    ck_assert_int_eq(frame_feed(&f, "}", 1, measure, &total, &flaw), 0);
    ck_assert(f.finished);
    frame_fini(&f);
    frame_fini(&f); /* twice is once */
}
