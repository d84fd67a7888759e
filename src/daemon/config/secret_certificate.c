#include "daemon/config/secret_certificate.h"

#include "base/buf.h"
#include "base/str.h"
#include "haproxy/storage_files.h"

const struct secret_value *secret_value_of(const struct secret_object *o, const char *key)
{
    for (size_t i = 0; i < o->value_count; i++)
        if (str_eq(o->values[i].key, key))
            return &o->values[i];
    return NULL;
}

int secret_certificate_add(const struct secret_object *o, const char *name, struct storage_known *known,
                           struct storage_files *files, struct error *err)
{
    static const char *const keys[] = {"tls.crt", "ca.crt", "tls.key"};
    cleanup(buf_fini) struct buf pem;
    buf_init_secret(&pem, 0);
    if (o == NULL)
        return error_set(err, ERROR_INVALID, "it does not exist");
    for (size_t i = 0; i < array_len(keys); i++) {
        const struct secret_value *v = secret_value_of(o, keys[i]);
        if (v == NULL && i != 1)
            return error_set(err, ERROR_INVALID, "it has no key %s", keys[i]);
        if (v == NULL)
            continue;
        buf_addn(&pem, v->bytes, v->len);
        if (v->len > 0 && v->bytes[v->len - 1] != '\n')
            buf_add(&pem, "\n");
    }
    return storage_files_add_known(files, known, STORAGE_CERTIFICATE, name, buf_str(&pem), pem.len, err);
}
