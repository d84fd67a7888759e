/* A folder with a haproxy.cfg, and a driver whose files go into three more beside it, by the real helper. */
#pragma once

#include "haproxy/local/driver.h"

#include "local_world.h"

#include "haproxy/cfg/content.h"
#include "haproxy/readout.h"

static struct driver *driver;
static struct readout readout;
static struct storage_files files;
static char *maps, *ssl_dir, *general;
static const char *folders[4];
static bool alone; /* haproxy.cfg stays */

static struct {
    unsigned told;
    struct stored news;
    char *differs, *why;
} last;

static inline void on_stored(void *arg, const struct stored *s)
{
    last.told++;
    last.news = *s;
    free(last.differs);
    last.differs = mem_strdup(s->differs);
    free(last.why);
    last.why = mem_strdup(s->why);
}

static inline void on_read(void *arg, const struct error *err)
{
    ck_assert_msg(err == NULL, "%s", err != NULL ? err->message : "");
    last.told++;
}

static inline void on_replaced(void *arg, const struct replaced *r)
{
    ck_assert_msg(r->error.kind == ERROR_NONE, "%s", r->error.message);
    last.told++;
}

static const struct driver_events events = {.was_read = on_read, .stored = on_stored, .replaced = on_replaced};

/* Another run of the daemon. */
static inline void begin(void)
{
    start();
    const struct local_driver_options o = {.helper = helper,
                                           .commands = options.stats_socket != NULL ? helper : NULL,
                                           .file = config,
                                           .folders = folders,
                                           .has_stats = options.stats_socket != NULL};
    driver = local_driver_new(base, &o);
    driver->events = &events;
}

static inline void end(void)
{
    driver->ops->free(driver);
    driver = NULL;
    local_helper_free(helper);
    helper = NULL;
}

static inline void begin_again(void)
{
    end();
    begin();
}

static inline void set_up_folder(void)
{
    set_up();
    memset(&last, 0, sizeof(last));
    maps = in_folder("maps");
    ssl_dir = in_folder("ssl");
    general = in_folder("general");
    folders[0] = maps;
    folders[1] = ssl_dir;
    folders[2] = general;
    options.folders = folders;
    readout_init(&readout, NULL, 0);
}

static inline void set_up_store(void)
{
    set_up_folder();
    begin();
}

static inline void tear_down_store(void)
{
    driver->ops->free(driver);
    readout_fini(&readout);
    storage_files_fini(&files);
    free(last.differs);
    free(last.why);
    free(maps);
    free(ssl_dir);
    free(general);
    tear_down();
}

static inline void want(enum storage_kind kind, const char *name, const char *bytes)
{
    ck_assert_msg(storage_files_add(&files, kind, name, bytes, strlen(bytes), &flaw) == 0, "%s", flaw.message);
}

/* For a configuration that comes next. */
static inline void want_none(void)
{
    storage_files_fini(&files);
}

static inline void want_only(enum storage_kind kind, const char *name, const char *bytes)
{
    want_none();
    want(kind, name, bytes);
}

static inline void await_told(void)
{
    while (last.told == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.told, 1);
    last.told = 0;
}

static inline void read_it(void)
{
    last.told = 0;
    driver->ops->read(driver, &readout);
    await_told();
}

static inline enum transaction_result do_part(enum storage_part part)
{
    last.told = 0;
    driver->ops->store(driver, &(struct storage_request){.part = part, .files = &files, .alone = alone});
    ck_assert_uint_eq(last.told, 0); /* never within the call */
    await_told();
    return last.news.result;
}

static inline void must(enum storage_part part)
{
    ck_assert_msg(do_part(part) == TRANSACTION_COMMITTED, "%s", last.news.error.message);
    ck_assert_uint_eq(left_behind(), 0);
}

static inline void must_fail(enum storage_part part, const char *says)
{
    ck_assert_int_eq(do_part(part), TRANSACTION_UNAVAILABLE);
    ck_assert_int_eq(last.news.error.kind, ERROR_RETRY);
    ck_assert_msg(strstr(last.news.error.message, says) != NULL, "%s", last.news.error.message);
}

static inline void loaded(void)
{
    must(STORAGE_ADD);
    if (last.news.unfinished)
        must(STORAGE_FINAL);
    must(STORAGE_END);
}

static inline char *path_of(const char *dir, const char *name)
{
    return mem_printf("%s/%s", dir, name);
}

static inline void assert_at(const char *dir, const char *name, const char *bytes)
{
    cleanup(mem_free_ptr) char *path = path_of(dir, name);
    if (bytes != NULL)
        assert_file(path, bytes);
    else
        ck_assert_msg(access(path, F_OK) != 0, "%s is there", path);
}

static inline void put_at(const char *dir, const char *name, const char *bytes)
{
    cleanup(mem_free_ptr) char *path = path_of(dir, name);
    (void)mkdir(dir, 0755);
    put(path, bytes, 0644);
}

static inline void unlink_at(const char *dir, const char *name)
{
    cleanup(mem_free_ptr) char *path = path_of(dir, name);
    ck_assert_int_eq(unlink(path), 0);
}

static inline char *list_text(void)
{
    cleanup(mem_free_ptr) char *path = path_of(general, STORAGE_LIST);
    struct buf b = {0};
    ck_assert_int_eq(buf_read_file(&b, path), 0);
    return buf_take(&b);
}

static inline void assert_list(const char *format, ...)
{
    cleanup(mem_free_ptr) char *text = list_text();
    va_list ap;
    va_start(ap, format);
    cleanup(mem_free_ptr) char *wanted = mem_vprintf(format, ap);
    va_end(ap);
    ck_assert_str_eq(text, wanted);
}

static inline const char *hash_of(const char *bytes)
{
    static char hash[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(bytes, strlen(bytes), hash);
    return hash;
}

static inline mode_t mode_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* Names of the folder that begin with a dot. */
static inline unsigned temporary_files(const char *dir)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += *e->d_name == '.' && !str_eq(e->d_name, ".") && !str_eq(e->d_name, "..");
    if (d != NULL)
        closedir(d);
    return n;
}
