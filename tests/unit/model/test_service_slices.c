/* model/service_slices: which slices are a Service's, and whether they are others than before. */
#include "../model_text.h"
#include "model/service_slices.h"

static struct service_slice *slice_new(const char *name, const char *service, const char *words)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(words);
    struct endpoint_set *set = text_set_new(name, copy);
    struct service_slice *s = mem_alloc(sizeof(*s));
    *s = (struct service_slice){.set = *set, .service = mem_strdup(service)};
    free(set);
    return s;
}

static bool put(struct service_slices *s, const char *name, const char *service, const char *words)
{
    return service_slices_put(s, slice_new(name, service, words));
}

static void check_names(struct service_slices *s, const char *service, const char *names)
{
    struct service_slices_found found = service_slices_of(s, service);
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < found.count; i++)
        buf_printf(&text, "%s%s", i > 0 ? " " : "", found.sets[i]->name);
    ck_assert_str_eq(text.len > 0 ? buf_str(&text) : "", names);
}

TEST(each_has_its_own)
{
    struct service_slices *s = service_slices_new();
    check_names(s, "a/web", "");
    ck_assert_uint_eq(service_slices_of(s, "a/web").changed, 0);
    ck_assert(put(s, "a/web-2", "a/web", "http/80 : 10.0.0.1@n1"));
    ck_assert(put(s, "a/web-1", "a/web", "http/80 : 10.0.0.2@n1"));
    ck_assert(put(s, "b/web-1", "b/web", "http/80 : 10.0.0.3@n1"));
    ck_assert(put(s, "a/odd", NULL, "http/80 : 10.0.0.4@n1"));
    check_names(s, "a/web", "a/web-1 a/web-2");
    check_names(s, "b/web", "b/web-1");
    check_names(s, "a/none", "");
    size_t count = 0;
    static const char *const all[] = {"a/web-1", "a/web-2", "b/web-1", "a/odd"};
    service_slices_begin(s);
    for (size_t i = 0; i < array_len(all); i++)
        service_slices_keep(s, all[i]);
    ck_assert(service_slices_end(s, &count)); /* the first list */
    ck_assert_uint_eq(count, 4);
    ck_assert(put(s, "a/web-1", "a/api", "http/80 : 10.0.0.2@n1"));
    check_names(s, "a/web", "a/web-2");
    check_names(s, "a/api", "a/web-1");
    ck_assert(service_slices_delete(s, "a/web-2"));
    ck_assert(!service_slices_delete(s, "a/web-2"));
    check_names(s, "a/web", "");
    service_slices_free(s);
    service_slices_free(NULL);
}

TEST(a_change_is_of_the_services_that_it_is_about)
{
    struct service_slices *s = service_slices_new();
    put(s, "a/web-1", "a/web", "http/80 : 10.0.0.1@n1");
    put(s, "a/web-2", "a/web", "http/80 : 10.0.0.2@n1");
    put(s, "a/api-1", "a/api", "http/80 : 10.0.0.1@n1");
    uint64_t web = service_slices_of(s, "a/web").changed, api = service_slices_of(s, "a/api").changed;
    ck_assert(!put(s, "a/web-1", "a/web", "http/80 : 10.0.0.1@n1"));
    ck_assert_uint_eq(service_slices_of(s, "a/web").changed, web);
    put(s, "a/web-1", "a/web", "http/80 : 10.0.0.1@n2");
    ck_assert_uint_ne(service_slices_of(s, "a/web").changed, web);
    ck_assert_uint_eq(service_slices_of(s, "a/api").changed, api);
    web = service_slices_of(s, "a/web").changed;
    put(s, "a/web-1", "a/api", "http/80 : 10.0.0.1@n2"); /* it changes hands */
    ck_assert_uint_ne(service_slices_of(s, "a/web").changed, web);
    ck_assert_uint_ne(service_slices_of(s, "a/api").changed, api);
    api = service_slices_of(s, "a/api").changed;
    service_slices_delete(s, "a/web-1");
    ck_assert_uint_ne(service_slices_of(s, "a/api").changed, api);
    service_slices_free(s);
}

TEST(a_relist_is_of_all_where_it_changes_anything)
{
    size_t count;
    struct service_slices *s = service_slices_new();
    service_slices_begin(s);
    ck_assert(!put(s, "a/web-1", "a/web", "http/80 : 10.0.0.1@n1"));
    check_names(s, "a/web", "");
    ck_assert(service_slices_end(s, &count));
    check_names(s, "a/web", "a/web-1");
    uint64_t web = service_slices_of(s, "a/web").changed;
    ck_assert_uint_ne(web, 0);
    service_slices_begin(s);
    service_slices_keep(s, "a/web-1");
    ck_assert(!service_slices_end(s, &count));
    ck_assert_uint_eq(service_slices_of(s, "a/web").changed, web);
    service_slices_begin(s);
    put(s, "a/api-1", "a/api", "http/80");
    service_slices_abort(s);
    check_names(s, "a/web", "a/web-1");
    service_slices_begin(s);
    put(s, "a/api-1", "a/api", "http/80");
    ck_assert(service_slices_end(s, &count));
    check_names(s, "a/web", "");
    check_names(s, "a/api", "a/api-1");
    ck_assert_uint_ne(service_slices_of(s, "a/web").changed, web);
    service_slices_forget(s);
    check_names(s, "a/api", "");
    ck_assert_uint_eq(service_slices_of(s, "a/api").changed, 0);
    service_slices_free(s);
}
