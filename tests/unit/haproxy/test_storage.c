/* src/haproxy/dataplane/storage and map_text: every request for a storage, and what it leaves behind. */
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/storage.h"
#include "haproxy/map_text.h"

#include "../certs.h"

/* ---- an API: a storage of general files and maps ---- */

#define ROOM 8

static struct {
    struct storage s;
    struct storage_files files;
    struct {
        char *path, *bytes; /* "maps/a.map" */
        size_t len;
    } there[ROOM];
    char *in_use;        /* a path that cannot be deleted */
    const char *refused; /* a path whose next write fails */
    const char *lost;    /* a path that is written, but the answer is lost */
    const char *shows;   /* of a certificate */
    struct buf trace;    /* of what was not read */
    bool html;
    bool alone;       /* haproxy.cfg stays */
    int tells;        /* with this status */
    bool lies;        /* HAProxy is not sent it in truth */
    bool appends;     /* the first block of it alone, behind what there is */
    char *shown[256]; /* what HAProxy has of a.map, as JSON: key and value */
    size_t shown_count;
} w;

static void setup(void)
{
    memset(&w, 0, sizeof(w));
    w.tells = 201;
    storage_init(&w.s);
}

static void show_none(void)
{
    while (w.shown_count > 0)
        free(w.shown[--w.shown_count]);
}

static void forget(size_t i)
{
    free(w.there[i].path);
    free(w.there[i].bytes);
    memset(&w.there[i], 0, sizeof(w.there[i]));
}

static void teardown(void)
{
    for (size_t i = 0; i < ROOM; i++)
        forget(i);
    storage_fini(&w.s);
    storage_files_fini(&w.files);
    buf_fini(&w.trace);
    show_none();
}

static size_t place_of(const char *path)
{
    size_t none = ROOM;
    for (size_t i = ROOM; i-- > 0;) {
        if (w.there[i].path != NULL && str_eq(w.there[i].path, path))
            return i;
        none = w.there[i].path == NULL ? i : none;
    }
    ck_assert_uint_lt(none, ROOM);
    return none;
}

static void store(const char *path, const char *bytes, size_t len)
{
    size_t i = place_of(path);
    forget(i);
    w.there[i].path = mem_strdup(path);
    w.there[i].bytes = mem_alloc(len + 1);
    memcpy(w.there[i].bytes, bytes, len);
    w.there[i].len = len;
}

static const char *at(const char *path)
{
    size_t i = place_of(path);
    return w.there[i].bytes;
}

/* The name and the bytes of a form. */
static void take_form(const struct storage_action *x, const char *kind, const char *stored)
{
    const char *mark = strstr(x->type, "boundary=") + strlen("boundary="), *body = x->body;
    cleanup(mem_free_ptr) char *end = mem_printf("\r\n--%s--\r\n", mark);
    const char *name = strstr(body, "filename=\"") + strlen("filename=\"");
    cleanup(mem_free_ptr) char *given = mem_strndup(name, strcspn(name, "\""));
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", kind, stored != NULL ? stored : given);
    const char *bytes = strstr(name, "\r\n\r\n") + 4;
    ck_assert_uint_ge(x->body_len, (size_t)(bytes - body) + strlen(end));
    ck_assert_str_eq(body + x->body_len - strlen(end), end);
    store(path, bytes, x->body_len - (size_t)(bytes - body) - strlen(end));
}

static void names_of(const char *kind, struct buf *ret)
{
    buf_add(ret, "[");
    for (size_t i = 0; i < ROOM; i++)
        if (w.there[i].path != NULL && strncmp(w.there[i].path, kind, strlen(kind)) == 0)
            buf_printf(ret, "%s{\"storage_name\":\"%s\"}", ret->len > 1 ? "," : "", w.there[i].path + strlen(kind) + 1);
    buf_add(ret, "]");
}

/* As the API sends it to HAProxy, without blanks in front of a value. Few are appended, and so are all that an API appends. */
static void tell(const char *json)
{
    size_t block = 8192, bytes = 0;
    bool behind = strlen(json) < block;
    if (!w.appends && !behind)
        show_none();
    for (const char *at = strchr(json, '{'); at != NULL; at = strchr(at + 1, '{')) {
        cleanup(buf_fini) struct buf one = {0};
        size_t len = strcspn(at, "}");
        bytes += len;
        if (w.appends && !behind && bytes > len && bytes >= block / 2)
            return;
        for (size_t i = 1; i < len; i++)
            if (at[i] != ' ')
                buf_addn(&one, at + i, 1);
        ck_assert_uint_lt(w.shown_count, array_len(w.shown));
        w.shown[w.shown_count++] = buf_take(&one);
    }
}

static void show(struct buf *body)
{
    buf_add(body, "[");
    for (size_t i = 0; i < w.shown_count; i++)
        buf_printf(body, "%s{\"id\":\"0x%zx\",%s}", i > 0 ? "," : "", i + 1, w.shown[i]);
    buf_add(body, "]");
}

/* What HAProxy has of a map. */
static void answer_of_runtime(const struct storage_action *x, struct dataplane_answer *a, struct buf *body)
{
    bool put = str_eq(x->method, "PUT");
    buf_printf(&w.trace, "%s%s", w.trace.len > 0 ? ", " : "", put ? "TELL" : "SHOW");
    ck_assert_str_eq(x->path, put ? "/runtime/maps/a.map" : "/runtime/maps/a.map/entries");
    if (!put)
        show(body);
    else if (!w.lies)
        tell(x->body);
    a->status = put ? w.tells : 200;
}

static const struct error reset = {.kind = ERROR_RETRY, .message = "connection reset"};

static void answer(const struct storage_action *x, struct dataplane_answer *a, struct buf *body)
{
    if (str_has_prefix(x->path, "/runtime/")) {
        answer_of_runtime(x, a, body);
        return;
    }
    ck_assert_str_eq(strstr(x->path, "/storage/"), x->path);
    const char *behind = x->path + strlen("/storage/");
    cleanup(mem_free_ptr) char *path = mem_strndup(behind, strcspn(behind, "?"));
    cleanup(mem_free_ptr) char *kind = mem_strndup(path, strcspn(path, "/"));
    const char *stored = path[strlen(kind)] == '/' ? path + strlen(kind) + 1 : NULL;
    bool all = stored == NULL, get = str_eq(x->method, "GET");
    if (!get) {
        ck_assert_ptr_nonnull(strstr(x->path, "?skip_reload=true"));
        buf_printf(&w.trace, "%s%s %s", w.trace.len > 0 ? ", " : "", x->method, all ? kind : path);
    }
    bool there = !all && w.there[place_of(path)].path != NULL;
    a->status = all || there ? 200 : 404;
    if (get && all)
        names_of(kind, body);
    else if (get && there && str_eq(kind, "ssl_certificates"))
        buf_add(body, w.shows);
    else if (get && there)
        buf_addn(body, at(path), w.there[place_of(path)].len);
    else if (str_eq(x->method, "DELETE"))
        a->status = w.in_use != NULL && str_eq(w.in_use, path) ? 409 : there ? 204 : 404;
    else if (!get && w.refused != NULL && strstr(x->body, w.refused) != NULL)
        a->status = 500;
    if (str_eq(x->method, "DELETE") && a->status == 204)
        forget(place_of(path));
    if (a->status != 200 || get)
        return;
    if (strstr(x->type, "multipart/form-data") != NULL)
        take_form(x, kind, stored);
    else
        store(path, x->body, x->body_len);
    if (w.lost != NULL && strstr(x->path, w.lost) != NULL)
        *a = (struct dataplane_answer){.error = &reset, .version = -1, .retry_after_ms = -1};
}

/* What was written and deleted. */
static const char *run(enum storage_part part, enum transaction_result result)
{
    const struct storage_request request = {.part = part, .files = &w.files, .alone = w.alone};
    buf_clear(&w.trace);
    unsigned left = 100;
    for (struct storage_action x = storage_start(&w.s, &request); x.send; left--) {
        cleanup(buf_fini) struct buf body = {0};
        struct dataplane_answer a = {.version = w.html ? -1 : 7, .retry_after_ms = -1};
        ck_assert_uint_gt(left, 0);
        answer(&x, &a, &body);
        a.body = buf_str(&body);
        a.body_len = body.len;
        x = storage_answer(&w.s, &a);
    }
    ck_assert_int_eq(w.s.machine.state, STORAGE_DONE);
    ck_assert_int_eq(w.s.machine.news.result, result);
    return buf_str(&w.trace);
}

static const char *runs(enum storage_part part)
{
    return run(part, TRANSACTION_COMMITTED);
}

static void want(enum storage_kind kind, const char *name, const char *bytes)
{
    ck_assert_msg(storage_files_add(&w.files, kind, name, bytes, strlen(bytes), &flaw) == 0, "%s", flaw.message);
}

static void want_anew(void)
{
    storage_files_fini(&w.files);
}

static void want_only(enum storage_kind kind, const char *name, const char *bytes)
{
    want_anew();
    want(kind, name, bytes);
}

/* HAProxy runs all that is desired. */
static void loaded(void)
{
    runs(STORAGE_ADD);
    runs(STORAGE_FINAL);
    runs(STORAGE_END);
}

static void another_run(void)
{
    storage_fini(&w.s);
    storage_init(&w.s);
}

#define LISTED "PUT general/haproxy-k8s-sync.files"
#define LISTED_FIRST "POST general"

/* ---- */

FIXTURE(setup, teardown)

TEST(nothing_is_written_twice)
{
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert_str_eq(runs(STORAGE_END), "");
    want(STORAGE_MAP, "a.map", "k v\n");
    want(STORAGE_GENERAL, "e.503.http", "x");
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED_FIRST ", POST maps, POST general");
    ck_assert_str_eq(at("maps/a.map"), "k v\n");
    ck_assert_str_eq(at("general/e_503.http"), "x");
    ck_assert(w.s.machine.news.changed && !w.s.machine.news.unfinished);
    ck_assert_uint_eq(w.s.machine.news.written, 2);
    ck_assert_uint_eq(w.s.machine.news.certificates, 0);
    ck_assert_str_eq(runs(STORAGE_FINAL), "");
    ck_assert_str_eq(runs(STORAGE_END), LISTED);
    ck_assert(!w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    another_run();
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert(!w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_END), "");
}

TEST(what_a_killed_run_changed_is_to_be_loaded)
{
    want(STORAGE_MAP, "a.map", "k v\n");
    runs(STORAGE_ADD);
    another_run();
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert(w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_END), LISTED);
    another_run();
    runs(STORAGE_ADD);
    ck_assert(!w.s.machine.news.changed);
    want_only(STORAGE_MAP, "a.map", "k v\nl w\n");
    runs(STORAGE_ADD);
    another_run();
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert(w.s.machine.news.changed);
}

TEST(a_map_that_shrinks)
{
    want(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    loaded();
    want_only(STORAGE_MAP, "a.map", "a 1\nc 3\n");
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED ", PUT maps/a.map");
    ck_assert_str_eq(at("maps/a.map"), "a 1\nb 2\nc 3\n");
    ck_assert(w.s.machine.news.unfinished && w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_FINAL), "PUT maps/a.map");
    ck_assert_str_eq(at("maps/a.map"), "a 1\nc 3\n");
    ck_assert_str_eq(runs(STORAGE_BACK), "PUT maps/a.map, PUT general/haproxy-k8s-sync.files");
    ck_assert_str_eq(at("maps/a.map"), "a 1\nb 2\n");
    ck_assert(!w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_BACK), "");
    runs(STORAGE_ADD);
    runs(STORAGE_FINAL);
    ck_assert_str_eq(runs(STORAGE_END), LISTED);
    ck_assert_str_eq(runs(STORAGE_BACK), "");
    want_only(STORAGE_MAP, "a.map", "a 1\n");
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED); /* what runs is not known to another run meanwhile */
    ck_assert(w.s.machine.news.unfinished);
    ck_assert_str_eq(runs(STORAGE_FINAL), "PUT maps/a.map");
    ck_assert_str_eq(runs(STORAGE_BACK), "PUT maps/a.map, PUT general/haproxy-k8s-sync.files");
    ck_assert_str_eq(at("maps/a.map"), "a 1\nc 3\n");
    want_only(STORAGE_MAP, "a.map", "");
    runs(STORAGE_ADD);
    runs(STORAGE_FINAL);
    ck_assert_str_eq(at("maps/a.map"), "\n"); /* the API takes no empty one */
}

TEST(a_map_that_shrinks_alone)
{
    want(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    loaded();
    want_only(STORAGE_MAP, "a.map", "a 1\nc 3\n");
    w.alone = true;
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED ", PUT maps/a.map");
    ck_assert_str_eq(at("maps/a.map"), "a 1\nc 3\n");
    ck_assert(!w.s.machine.news.unfinished && w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_BACK), "PUT maps/a.map, PUT general/haproxy-k8s-sync.files");
    ck_assert_str_eq(at("maps/a.map"), "a 1\nb 2\n");
}

TEST(what_another_writer_changed_is_found)
{
    want(STORAGE_MAP, "a.map", "a 1\n");
    want(STORAGE_MAP, "empty.map", "");
    want(STORAGE_GENERAL, "b", "b");
    loaded();
    ck_assert_str_eq(runs(STORAGE_CHECK), "");
    ck_assert_uint_eq(w.s.machine.news.differing, 0);
    ck_assert_ptr_null(w.s.machine.news.differs);
    store("maps/a.map", "a 2\n", 4);
    ck_assert_str_eq(runs(STORAGE_CHECK), "");
    ck_assert_uint_eq(w.s.machine.news.differing, 1);
    ck_assert_str_eq(w.s.machine.news.differs, "maps/a.map");
    ck_assert(!w.s.machine.news.changed);
    forget(place_of("general/b"));
    runs(STORAGE_CHECK);
    ck_assert_uint_eq(w.s.machine.news.differing, 2);
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED ", POST general");
    ck_assert_str_eq(runs(STORAGE_FINAL), "PUT maps/a.map");
    ck_assert_str_eq(at("maps/a.map"), "a 1\n");
    ck_assert_str_eq(at("general/b"), "b");
    runs(STORAGE_CHECK);
    ck_assert_uint_eq(w.s.machine.news.differing, 0);
}

/* Its bytes are never given. */
TEST(what_is_shown_of_a_certificate_is_compared)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cleanup(mem_free_ptr) char *certificate = certs_cert_pem(key), *secret = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *pem = mem_printf("%s%s", certificate, secret);
    cleanup(mem_free_ptr) char *as_put = mem_printf("{\"serial\":\"1\",\"size\":%zu}", strlen(pem));
    cleanup(mem_free_ptr) char *another = mem_printf("{\"serial\":\"11\",\"size\":%zu}", strlen(pem));
    const struct {
        const char *shows;
        unsigned differing;
    } rows[] = {{as_put, 0},
                {another, 1},
                {"{\"serial\":\"1\",\"size\":7}", 1},
                {"{\"serial\":\"1\"}", 0},
                {"{\"serial\":\"2\"}", 1},
                {"{}", 0},
                {"{\"serial\":1,\"size\":-1}", 0},
                {"none", 0},
                {"", 0}};
    EVP_PKEY_free(key);
    want(STORAGE_CERTIFICATE, "a.pem", pem);
    loaded();
    for (size_t i = 0; i < array_len(rows); i++) {
        w.shows = rows[i].shows;
        ck_assert_str_eq(runs(STORAGE_CHECK), "");
        ck_assert_msg(w.s.machine.news.differing == rows[i].differing, "%s", w.shows);
        ck_assert(w.s.machine.news.differing == 0 || str_eq(w.s.machine.news.differs, "certs/a.pem"));
    }
    w.shows = another;
    runs(STORAGE_CHECK);
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED ", PUT ssl_certificates/a.pem");
    w.shows = as_put;
    runs(STORAGE_CHECK);
    ck_assert_uint_eq(w.s.machine.news.differing, 0);
}

/* ---- by the runtime ---- */

/* a.map and a page run. */
static void begin_to_run(void)
{
    want(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    want(STORAGE_GENERAL, "e", "x");
    loaded();
    want_anew();
}

/* Behind lines that make it long enough for an API to replace it. */
static const char *longer(const char *text)
{
    static char ret[10000];
    snprintf(ret, sizeof(ret), "l %04200d\nm %04200d\n%.1000s", 0, 0, text);
    return ret;
}

static void change_map(const char *text, const char *page)
{
    want(STORAGE_MAP, "a.map", text);
    want(STORAGE_GENERAL, "e", page);
    runs(STORAGE_ADD);
    runs(STORAGE_FINAL);
    ck_assert(w.s.machine.news.changed);
}

TEST(a_map_is_sent_and_read_back)
{
    begin_to_run();
    change_map(longer("a 1\nc 3\n"), "x");
    ck_assert_str_eq(runs(STORAGE_RUN), "TELL, SHOW");
    ck_assert(!w.s.machine.news.changed);
    ck_assert_uint_eq(w.s.machine.news.ran, 1);
    ck_assert_ptr_null(w.s.machine.news.why);
    ck_assert_str_eq(runs(STORAGE_RUN), "");
    ck_assert_uint_eq(w.s.machine.news.ran, 0);
    ck_assert_str_eq(runs(STORAGE_END), LISTED);
    ck_assert_str_eq(runs(STORAGE_BACK), "");
    another_run();
    want_only(STORAGE_MAP, "a.map", longer("a 1\nc 3\n"));
    want(STORAGE_GENERAL, "e", "x");
    runs(STORAGE_ADD);
    ck_assert(!w.s.machine.news.changed);
}

/* What it begins with in the next run is what was sent in this one. */
TEST(what_was_sent_is_what_goes_back)
{
    begin_to_run();
    change_map(longer("c 3\n"), "x");
    runs(STORAGE_RUN);
    runs(STORAGE_END);
    want_anew();
    change_map("d 4\n", "x");
    ck_assert_str_eq(runs(STORAGE_BACK), "PUT maps/a.map, PUT general/haproxy-k8s-sync.files");
    ck_assert_str_eq(at("maps/a.map"), longer("c 3\n"));
}

TEST(what_the_runtime_cannot)
{
    const struct {
        const char *text, *page;
        int tells;
        bool lies;
        const char *trace, *why;
    } rows[] = {
        {"a 1\nc 3\n", "y", 201, false, "", "files/e: HAProxy reads it when it starts"},
        {"a two words\n", "x", 201, false, "", "maps/a.map: the Data Plane API cannot set"},
        {"a 1\nc 3\n", "x", 201, true, "TELL, SHOW", "maps/a.map: HAProxy has other entries"},
        {"a 1\nc 3\n", "x", 404, false, "TELL", "maps/a.map: updating HAProxy: HTTP 404"},
        {"a 1\nc 3\n", "x", 500, false, "TELL", "maps/a.map: updating HAProxy: HTTP 500"},
    };
    begin_to_run();
    for (size_t i = 0; i < array_len(rows); i++) {
        w.tells = rows[i].tells;
        w.lies = rows[i].lies;
        want_anew();
        change_map(longer(rows[i].text), rows[i].page);
        ck_assert_str_eq(runs(STORAGE_RUN), rows[i].trace);
        ck_assert(w.s.machine.news.changed);
        ck_assert_uint_eq(w.s.machine.news.ran, 0);
        ck_assert_msg(w.s.machine.news.why != NULL && str_has_prefix(w.s.machine.news.why, rows[i].why), "%s",
                      w.s.machine.news.why);
        runs(STORAGE_END); /* it was loaded */
        want_anew();
        want(STORAGE_MAP, "a.map", "q r\n");
        want(STORAGE_GENERAL, "e", "x");
        loaded();
    }
}

/* By an API that does not know which HAProxy it has. */
TEST(a_map_that_is_appended_takes_a_reload)
{
    begin_to_run();
    w.appends = true;
    tell("[{\"key\":\"a\",\"value\":\"1\"},{\"key\":\"b\",\"value\":\"2\"}]");
    change_map(longer("a 1\nb 3\nc 3\n"), "x");
    ck_assert_str_eq(runs(STORAGE_RUN), "TELL, SHOW");
    ck_assert(w.s.machine.news.changed);
    ck_assert_str_eq(w.s.machine.news.why, "maps/a.map: HAProxy has other entries (3, not 5, or others)");
}

TEST(what_is_new_or_goes_takes_a_reload)
{
    begin_to_run();
    want(STORAGE_MAP, "b.map", "a 1\n");
    runs(STORAGE_ADD);
    ck_assert_str_eq(runs(STORAGE_RUN), "");
    ck_assert_str_eq(w.s.machine.news.why, "maps/b.map: it is new");
    want_anew();
    runs(STORAGE_RUN);
    ck_assert_str_eq(w.s.machine.news.why, "maps/b.map: it is removed");
    ck_assert(w.s.machine.news.changed);
}

/* What was added for a configuration that does not run goes again; what is in use by what runs, never. */
TEST(what_was_added_for_nothing_is_deleted)
{
    store("general/same", "y", 1);
    want(STORAGE_GENERAL, "same", "new");
    want(STORAGE_MAP, "a.map", "a 1\n");
    runs(STORAGE_ADD);
    ck_assert(w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_BACK), "DELETE maps/a.map, PUT general/same, " LISTED);
    ck_assert_str_eq(at("general/same"), "y");
    ck_assert_ptr_null(at("maps/a.map"));
    ck_assert(!w.s.machine.news.changed);
    ck_assert_str_eq(runs(STORAGE_BACK), "");
    /* another writer's of that name is no longer the daemon's */
    store("maps/a.map", "x 1\n", 4);
    another_run();
    want_anew();
    loaded();
    ck_assert_str_eq(at("maps/a.map"), "x 1\n");
    /* what runs stays */
    want(STORAGE_MAP, "b.map", "b 1\n");
    loaded();
    want_only(STORAGE_MAP, "b.map", "b 2\n");
    runs(STORAGE_ADD);
    runs(STORAGE_FINAL);
    runs(STORAGE_BACK);
    ck_assert_str_eq(at("maps/b.map"), "b 1\n");
}

TEST(what_may_have_been_written_goes_back)
{
    want(STORAGE_MAP, "a.map", "a 1\n");
    loaded();
    want_only(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    w.lost = "maps/a.map?";
    run(STORAGE_ADD, TRANSACTION_UNAVAILABLE);
    ck_assert(w.s.machine.news.changed);
    w.lost = NULL;
    ck_assert_str_eq(runs(STORAGE_BACK), "PUT maps/a.map, PUT general/haproxy-k8s-sync.files");
    ck_assert_str_eq(at("maps/a.map"), "a 1\n");
    /* and where the files are read again in between */
    w.lost = "maps/a.map?";
    run(STORAGE_ADD, TRANSACTION_UNAVAILABLE);
    w.lost = NULL;
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert(w.s.machine.news.changed);
    runs(STORAGE_BACK);
    ck_assert_str_eq(at("maps/a.map"), "a 1\n");
}

TEST(what_may_have_gone_back_is_written_again)
{
    want(STORAGE_GENERAL, "a", "1");
    loaded();
    want_only(STORAGE_GENERAL, "a", "2");
    runs(STORAGE_ADD);
    w.lost = "general/a?";
    run(STORAGE_BACK, TRANSACTION_UNAVAILABLE);
    w.lost = NULL;
    ck_assert_str_eq(at("general/a"), "1");
    runs(STORAGE_ADD);
    ck_assert_str_eq(at("general/a"), "2");
}

/* The list of what was put there does not change any more. */
TEST(what_is_seen_to_be_there_is_known)
{
    want(STORAGE_GENERAL, "a", "1");
    loaded();
    store("general/a", "2", 1);
    runs(STORAGE_CHECK);
    ck_assert_uint_eq(w.s.machine.news.differing, 1);
    store("general/a", "1", 1);
    runs(STORAGE_CHECK);
    ck_assert_uint_eq(w.s.machine.news.differing, 0);
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert_str_eq(runs(STORAGE_END), "");
    store("general/a", "2", 1);
    runs(STORAGE_CHECK);
    store("general/a", "1", 1);
    runs(STORAGE_CHECK);
    ck_assert_str_eq(runs(STORAGE_END), "");
}

TEST(only_what_was_put_there_is_deleted)
{
    store("general/foreign", "x", 1);
    store("general/same", "y", 1);
    store("general/other", "z", 1);
    want(STORAGE_GENERAL, "same", "y");
    want(STORAGE_GENERAL, "other", "new");
    want(STORAGE_GENERAL, "own", "o");
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED_FIRST ", PUT general/other, POST general");
    ck_assert_str_eq(at("general/other"), "new");
    runs(STORAGE_END);
    another_run();
    want_anew();
    ck_assert_str_eq(runs(STORAGE_ADD), "");
    ck_assert_str_eq(runs(STORAGE_END), "DELETE general/own, " LISTED);
    ck_assert_uint_eq(w.s.machine.news.deleted, 1);
    ck_assert_str_eq(at("general/foreign"), "x");
    ck_assert_str_eq(at("general/same"), "y");
    ck_assert_ptr_null(at("general/own"));
    another_run();
    runs(STORAGE_ADD);
    ck_assert_str_eq(runs(STORAGE_END), "");
}

TEST(what_is_in_use_stays_for_another_time)
{
    want(STORAGE_GENERAL, "a", "1");
    want(STORAGE_GENERAL, "b", "2");
    loaded();
    want_anew();
    w.in_use = (char *)"general/a";
    runs(STORAGE_ADD);
    ck_assert_str_eq(runs(STORAGE_END), "DELETE general/a, DELETE general/b, " LISTED);
    ck_assert_uint_eq(w.s.machine.news.in_use, 1);
    w.in_use = NULL;
    another_run();
    runs(STORAGE_ADD);
    ck_assert_str_eq(runs(STORAGE_END), "DELETE general/a, " LISTED);
}

TEST(what_another_client_deleted_comes_back)
{
    want(STORAGE_GENERAL, "a", "1");
    loaded();
    forget(place_of("general/a"));
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED ", POST general");
    ck_assert_str_eq(at("general/a"), "1");
}

TEST(what_cannot_be_stored_is_tried_again)
{
    want(STORAGE_GENERAL, "a", "1");
    want(STORAGE_GENERAL, "b", "2");
    w.refused = "filename=\"b\"";
    ck_assert_str_eq(run(STORAGE_ADD, TRANSACTION_UNAVAILABLE), LISTED_FIRST ", POST general, POST general");
    ck_assert_str_eq(w.s.machine.news.error.message,
                     "storing a file (/storage/general?skip_reload=true): HTTP 500: (no message)");
    ck_assert(w.s.machine.news.changed);
    w.refused = NULL;
    ck_assert_str_eq(runs(STORAGE_ADD), LISTED ", POST general");
    w.html = true;
    run(STORAGE_ADD, TRANSACTION_UNAVAILABLE);
}

static const struct {
    const char *now, *next, *grown; /* NULL: next will do */
} grows[] = {
    {"", "", NULL},
    {"", "a 1\n", NULL},
    {"a 1\n", "b 2\na 1\n", NULL},
    {"a 1\n# gone\n\n", "  a 1 \r\n", NULL},
    {"a 1\n", "", "a 1\n"},
    {"a 1\n", "a 2\n", "a 1\n"},
    {"a 1\nb 2", "a 3\nc 4", "a 1\nb 2\nc 4\n"},
    {"a\tx\n", "a y\nb\n", "a\tx\nb\n"},
    {"a 1\n #b 2\n", "a 1\n #c 3\n#d 4\n", "a 1\n #b 2\n #c 3\n"}, /* behind a blank it is a key */
    {"a  1\n", "a\t1 \nb 2\n", NULL},
};

TEST_EACH(maps_grow, array_len(grows))
{
    cleanup(buf_fini) struct buf grown = {0};
    bool will_do = map_text_grow(grows[_i].now, grows[_i].next, &grown);
    ck_assert_int_eq(will_do, grows[_i].grown == NULL);
    if (!will_do)
        ck_assert_str_eq(buf_str(&grown), grows[_i].grown);
}
