#include "configuration/published.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "json/read.h"
#include "json/write.h"

#define FORMAT 1
#define PRIVATE_KEY "PRIVATE KEY-----"
#define NAME_MAX_BYTES 256

/* ---- parts ---- */

static size_t parts_of(size_t len)
{
    return (len + PUBLISHED_PART_MAX_BYTES - 1) / PUBLISHED_PART_MAX_BYTES;
}

static struct publication_part part_of(const struct published_parts *p, size_t i, const char *bytes, size_t len)
{
    size_t at = i * PUBLISHED_PART_MAX_BYTES, left = len - at;
    return (struct publication_part){p->list[i], bytes + at,
                                     left < PUBLISHED_PART_MAX_BYTES ? left : PUBLISHED_PART_MAX_BYTES};
}

static void parts_cut(struct published_parts *p, const char *bytes, size_t len)
{
    p->count = parts_of(len);
    p->list = mem_array(p->count, sizeof(p->list[0]));
    for (size_t i = 0; i < p->count; i++) {
        struct publication_part part = part_of(p, i, bytes, len);
        digest_sha256_hex(part.bytes, part.len, p->list[i]);
    }
}

static bool parts_have(const struct published_parts *p, const char *hash)
{
    for (size_t i = 0; i < p->count; i++)
        if (str_eq(p->list[i], hash))
            return true;
    return false;
}

bool published_manifest_names(const struct published_manifest *m, const char *part)
{
    return parts_have(&m->text, part) || parts_have(&m->files, part);
}

bool published_is(const char *bytes, size_t len, const char hash[DIGEST_SHA256_HEX_BYTES])
{
    char is[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(bytes, len, is);
    return str_eq(is, hash);
}

/* ---- the manifest ---- */

void published_manifest_fini(struct published_manifest *m)
{
    for (size_t i = 0; i < m->file_count; i++)
        free(m->list[i].name);
    for (size_t i = 0; i < m->certificate_count; i++)
        free(m->certificates[i]);
    mem_free_all(m->list, m->certificates, m->text.list, m->files.list, m->producer, m->cluster);
    *m = (struct published_manifest){0};
}

/* In hexadecimal digits; false: it is no sum. */
static bool take_hash(const char *text, char ret[DIGEST_SHA256_HEX_BYTES])
{
    size_t len = DIGEST_SHA256_HEX_BYTES - 1;
    bool good = strlen(text) == len && strspn(text, "0123456789abcdef") == len;
    if (good)
        memcpy(ret, text, len + 1);
    return good;
}

static int get_hash(yyjson_val *obj, const char *key, char ret[DIGEST_SHA256_HEX_BYTES], struct error *err)
{
    const char *text;
    if (json_need_string(obj, key, &text, err) != 0)
        return -1;
    return take_hash(text, ret) ? 0 : error_set(err, ERROR_INVALID, "\"%s\" is no sum of SHA-256", key);
}

static int get_len(yyjson_val *obj, size_t max, size_t *ret, struct error *err)
{
    int64_t len;
    if (json_get_int(obj, "bytes", 0, (int64_t)max, -1, &len, err) != 0)
        return -1;
    if (len < 0)
        return error_set(err, ERROR_INVALID, "\"bytes\" is absent");
    *ret = (size_t)len;
    return 0;
}

/* Of that many bytes. */
static int get_parts(yyjson_val *obj, size_t len, struct published_parts *ret, struct error *err)
{
    yyjson_val *list, *one;
    size_t i, count;
    if (json_get_array(obj, "parts", &list, err) != 0)
        return -1;
    if (yyjson_arr_size(list) != parts_of(len) || parts_of(len) > PUBLISHED_PARTS_MAX)
        return error_set(err, ERROR_INVALID, "\"parts\" has %zu entries, where %zu bytes have %zu",
                         yyjson_arr_size(list), len, parts_of(len));
    ret->list = mem_array(parts_of(len), sizeof(ret->list[0]));
    yyjson_arr_foreach (list, i, count, one) {
        const char *text;
        if (json_line(one, "a part", DIGEST_SHA256_HEX_BYTES, &text, err) != 0)
            return -1;
        if (text == NULL || !take_hash(text, ret->list[ret->count]))
            return error_set(err, ERROR_INVALID, "a part is no sum of SHA-256");
        ret->count++;
    }
    return 0;
}

static int get_files(yyjson_val *root, struct published_manifest *m, size_t *ret_bytes, struct error *err)
{
    yyjson_val *list, *one;
    size_t i, count;
    *ret_bytes = 0;
    if (json_get_array(root, "files", &list, err) != 0)
        return -1;
    if (yyjson_arr_size(list) > STORAGE_FILES_MAX)
        return error_set(err, ERROR_INVALID, "\"files\" has %zu entries", yyjson_arr_size(list));
    m->list = mem_array(yyjson_arr_size(list), sizeof(m->list[0]));
    yyjson_arr_foreach (list, i, count, one) {
        struct published_file *f = &m->list[m->file_count];
        const char *kind, *name;
        if (json_is_object(one, "a file", err) != 0 || json_need_string(one, "kind", &kind, err) != 0 ||
            json_need_string(one, "name", &name, err) != 0 || get_hash(one, "sha256", f->hash, err) != 0 ||
            get_len(one, STORAGE_FILE_MAX_BYTES, &f->len, err) != 0)
            return -1;
        if (!storage_kind_of(kind, &f->kind) || f->kind == STORAGE_CERTIFICATE)
            return error_set(err, ERROR_INVALID, "\"kind\" of %s is unknown", name);
        f->name = mem_strdup(name);
        m->file_count++;
        *ret_bytes += f->len;
    }
    return 0;
}

static int get_certificates(yyjson_val *root, struct published_manifest *m, struct error *err)
{
    yyjson_val *list, *one;
    size_t i, count;
    if (json_get_array(root, "certificates", &list, err) != 0)
        return -1;
    if (yyjson_arr_size(list) > STORAGE_FILES_MAX)
        return error_set(err, ERROR_INVALID, "\"certificates\" has %zu entries", yyjson_arr_size(list));
    m->certificates = mem_array(yyjson_arr_size(list), sizeof(m->certificates[0]));
    yyjson_arr_foreach (list, i, count, one) {
        const char *name;
        if (json_line(one, "a certificate", NAME_MAX_BYTES, &name, err) != 0)
            return -1;
        m->certificates[m->certificate_count++] = mem_strdup(name != NULL ? name : "");
    }
    return 0;
}

static int get_head(yyjson_val *root, struct published_manifest *m, struct error *err)
{
    int64_t format, version, time_us = 0;
    const char *time, *producer, *cluster;
    if (json_get_int(root, "format", 0, INT64_MAX, 0, &format, err) != 0 ||
        json_get_int(root, "version", 1, INT64_MAX, 0, &version, err) != 0 ||
        json_get_line(root, "time", RFC3339_BYTES, &time, err) != 0 ||
        json_get_line(root, "producer", NAME_MAX_BYTES, &producer, err) != 0 ||
        json_get_line(root, "cluster", NAME_MAX_BYTES, &cluster, err) != 0)
        return -1;
    if (format != FORMAT)
        return error_set(err, ERROR_INVALID,
                         "\"format\" is %lld, and this version knows %d: another haproxy-k8s-sync "
                         "published it",
                         (long long)format, FORMAT);
    if (version == 0 || time == NULL || rfc3339_parse(time, &time_us) != 0 || time_us < 1000)
        return error_set(err, ERROR_INVALID, "\"version\" or \"time\" is absent or none");
    m->version = (uint64_t)version;
    m->published_ms = time_us / 1000;
    m->producer = mem_strdup(producer != NULL ? producer : "");
    m->cluster = mem_strdup(cluster != NULL ? cluster : "");
    return 0;
}

static int manifest_read(yyjson_doc *doc, struct published_manifest *m, struct error *err)
{
    yyjson_val *root, *text, *files;
    size_t bytes;
    if (json_object_of(doc, "it", &root, err) != 0 || get_head(root, m, err) != 0 ||
        json_get_object(root, "configuration", &text, err) != 0)
        return -1;
    if (text == NULL)
        return error_set(err, ERROR_INVALID, "\"configuration\" is absent");
    if (get_hash(text, "sha256", m->hash, err) != 0 || get_len(text, DOCUMENT_MAX_BYTES, &m->len, err) != 0 ||
        get_parts(text, m->len, &m->text, err) != 0)
        return error_prefix(err, "configuration");
    if (json_get_object(root, "bundle", &files, err) != 0 || get_files(root, m, &bytes, err) != 0 ||
        get_parts(files, bytes, &m->files, err) != 0)
        return -1;
    return get_certificates(root, m, err);
}

int published_manifest_parse(const char *json, size_t len, struct published_manifest *ret, struct error *err)
{
    struct published_manifest m = {0};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "it", err);
    if (manifest_read(doc, &m, err) != 0) {
        published_manifest_fini(&m);
        return -1;
    }
    *ret = m;
    return 0;
}

static void put_parts(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const struct published_parts *p)
{
    struct yyjson_mut_val *list = json_put_list(doc, obj, "parts");
    for (size_t i = 0; i < p->count; i++)
        json_add(list, json_text(doc, p->list[i]));
}

void published_manifest_print(const struct published_manifest *m, struct buf *out)
{
    struct yyjson_mut_val *root;
    cleanup(json_free_ptr) struct yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_uint("format", FORMAT), json_uint("version", m->version),
                json_ms("time", m->published_ms), json_str("producer", m->producer), json_str("cluster", m->cluster));
    struct yyjson_mut_val *text = json_put_object(doc, root, "configuration");
    json_fields(doc, text, json_str("sha256", m->hash), json_uint("bytes", m->len));
    put_parts(doc, text, &m->text);
    struct yyjson_mut_val *files = json_put_list(doc, root, "files");
    for (size_t i = 0; i < m->file_count; i++) {
        const struct published_file *f = &m->list[i];
        json_fields(doc, json_add_object(doc, files), json_str("kind", storage_folder(f->kind)),
                    json_str("name", f->name), json_str("sha256", f->hash), json_uint("bytes", f->len));
    }
    put_parts(doc, json_put_object(doc, root, "bundle"), &m->files);
    json_put_texts(doc, root, "certificates", (const char *const *)m->certificates, m->certificate_count);
    json_write(doc, false, out);
}

bool published_manifest_same(const struct published_manifest *a, const struct published_manifest *b)
{
    bool same =
        str_eq(a->hash, b->hash) && a->file_count == b->file_count && a->certificate_count == b->certificate_count;
    for (size_t i = 0; same && i < a->file_count; i++)
        same = a->list[i].kind == b->list[i].kind && str_eq(a->list[i].name, b->list[i].name) &&
               str_eq(a->list[i].hash, b->list[i].hash);
    for (size_t i = 0; same && i < a->certificate_count; i++)
        same = str_eq(a->certificates[i], b->certificates[i]);
    return same;
}

/* ---- a document as it is published ---- */

static int refuse_key(const char *what, const char *bytes, size_t len, struct error *err)
{
    if (memmem(bytes, len, PRIVATE_KEY, strlen(PRIVATE_KEY)) == NULL)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "%s has a private key: keys are never published, they lie on the load balancers", what);
}

static int publication_fill(struct publication *p, struct error *err)
{
    struct published_manifest *m = &p->manifest;
    const struct document *d = p->document;
    if (refuse_key("the configuration", d->content->text, d->content->len, err) != 0)
        return -1;
    m->list = mem_array(d->files.count, sizeof(m->list[0]));
    m->certificates = mem_array(d->files.count, sizeof(m->certificates[0]));
    for (size_t i = 0; i < d->files.count; i++) {
        const struct storage_file *f = &d->files.list[i];
        if (f->kind == STORAGE_CERTIFICATE) {
            m->certificates[m->certificate_count++] = mem_strdup(f->name);
            continue;
        }
        cleanup(mem_free_ptr) char *what = mem_printf("%s/%s", storage_folder(f->kind), f->name);
        if (refuse_key(what, f->bytes, f->len, err) != 0)
            return -1;
        struct published_file *to = &m->list[m->file_count++];
        *to = (struct published_file){.kind = f->kind, .name = mem_strdup(f->name), .len = f->len};
        memcpy(to->hash, f->hash, sizeof(to->hash));
        buf_addn(&p->files, f->bytes, f->len);
    }
    m->len = d->content->len;
    memcpy(m->hash, d->text_hash, sizeof(m->hash));
    parts_cut(&m->text, d->content->text, d->content->len);
    parts_cut(&m->files, buf_str(&p->files), p->files.len);
    if (publication_part_count(p) <= PUBLISHED_PARTS_MAX)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "the configuration and its files have %zu MiB; expected at most %d: one "
                     "transaction of etcd names all parts",
                     publication_part_count(p), PUBLISHED_PARTS_MAX);
}

int publication_make(struct document *d, struct publication *ret, struct error *err)
{
    struct publication p = {.document = document_ref(d)};
    if (publication_fill(&p, err) != 0) {
        publication_fini(&p);
        return -1;
    }
    *ret = p;
    return 0;
}

void publication_fini(struct publication *p)
{
    published_manifest_fini(&p->manifest);
    document_unref(p->document);
    buf_fini(&p->files);
    *p = (struct publication){0};
}

size_t publication_part_count(const struct publication *p)
{
    return p->manifest.text.count + p->manifest.files.count;
}

struct publication_part publication_part(const struct publication *p, size_t i)
{
    const struct published_manifest *m = &p->manifest;
    const struct cfg_content *text = p->document->content;
    return i < m->text.count ? part_of(&m->text, i, text->text, text->len)
                             : part_of(&m->files, i - m->text.count, buf_str(&p->files), p->files.len);
}

const char *publication_plain(const struct publication *p, size_t *ret_len)
{
    const struct cfg_content *text = p->document->content;
    bool fits = text->len <= PUBLISHED_PLAIN_MAX_BYTES;
    *ret_len = fits ? text->len : strlen(PUBLISHED_TOO_LARGE);
    return fits ? text->text : PUBLISHED_TOO_LARGE;
}

/* ---- back ---- */

int published_files(const struct published_manifest *m, const char *bytes, size_t len, struct storage_files *ret,
                    struct error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < m->file_count; i++) {
        const struct published_file *f = &m->list[i];
        if (f->len > len - at || !published_is(bytes + at, f->len, f->hash))
            return error_set(err, ERROR_INVALID, "%s/%s does not match the manifest", storage_folder(f->kind), f->name);
        if (storage_files_add(ret, f->kind, f->name, bytes + at, f->len, err) != 0)
            return -1;
        at += f->len;
    }
    return at == len ? 0 : error_set(err, ERROR_INVALID, "its files are longer than in the manifest");
}
