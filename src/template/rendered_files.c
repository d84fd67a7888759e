#include "template/rendered_files.h"

#include "haproxy/storage_files.h"
#include "template/render.h"

int rendered_files(const struct rendered *r, struct storage_known *known, struct storage_files *ret, struct error *err)
{
    static const enum storage_kind kinds[] = {
        [ENGINE_MAP] = STORAGE_MAP, [ENGINE_CERTIFICATE] = STORAGE_CERTIFICATE, [ENGINE_FILE] = STORAGE_GENERAL};
    for (size_t i = 1; i < r->file_count; i++)
        if (storage_files_add_known(ret, known, kinds[r->files[i].kind], r->files[i].name, r->files[i].bytes,
                                    r->files[i].len, err) != 0)
            return -1;
    return 0;
}
