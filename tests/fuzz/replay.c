/* Runs a libFuzzer target over every file of a corpus folder: no clang needed, part of `make test`. */
#include <dirent.h>
#include <stdio.h>

#include "base/buf.h"
#include "fuzz.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    DIR *dir = opendir(argv[1]);
    if (dir == NULL) {
        perror(argv[1]);
        return 1;
    }
    size_t count = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
        cleanup(buf_fini) struct buf b;
        buf_init(&b, 64u << 20);
        if (buf_read_file(&b, path) != 0) {
            perror(path);
            return 1;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&b), b.len);
        count++;
    }
    closedir(dir);
    if (count == 0) {
        fprintf(stderr, "%s: an empty corpus proves nothing\n", argv[1]);
        return 1;
    }
    printf("replay %s: %zu inputs\n", argv[1], count);
    return 0;
}
