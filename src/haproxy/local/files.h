/* Files that the helper reads and replaces, as a whole. What fails leaves nothing behind. */
#pragma once

#include "base/buf.h"
#include "haproxy/local/helper.h"

/* A name in a folder that is open. */
struct local_place {
    int folder; /* -1: none */
    char *folder_path, *name;
};

/* Links are followed up to the last one: the place of the file itself, which has to be there. -1: errno. */
int local_place_of_file(struct local_place *p, const char *path) must_check;
int local_place_in_folder(struct local_place *p, const char *folder, const char *name) must_check;
void local_place_fini(struct local_place *p);

/* A regular file that is no link. bytes NULL: the identity alone. -1: errno; EFBIG past the cap of bytes. */
int local_file_read(const struct local_place *p, struct buf *bytes, struct local_identity *ret) must_check;

/* The same by a path. */
int local_path_read(const char *path, struct buf *bytes) must_check;

/* Writes name `temporary` in the same folder, on the disk when it returns, with owner, group, mode and extended attributes
 * of the file at p; where there is none, with mode 0640. -1: errno, and *ret_step says what failed; the temporary file is
 * gone. */
int local_file_write_beside(const struct local_place *p, const char *temporary, const char *bytes, size_t len,
                            const char **ret_step) must_check;

enum local_swap {
    LOCAL_SWAPPED,
    LOCAL_SWAPPED_UNSYNCED, /* in its place, and not known to be on the disk: errno */
    LOCAL_SWAP_CHANGED,
    LOCAL_SWAP_FAILED, /* errno */
};

/* Puts the temporary file in place. expected not NULL: only if that is what it replaces, also where another one writes at the
 * same moment, as far as the file system can exchange two names. Otherwise the temporary file is gone; bytes of another
 * else are never deleted: should he be in the way of their way back, too, they stay beside, as "TEMPORARY.INODE". */
enum local_swap local_file_swap(const struct local_place *p, const char *temporary,
                                const struct local_identity *expected) must_check;
