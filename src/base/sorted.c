#include "base/sorted.h"

size_t sorted_place(const void *key, const void *list, size_t count, size_t size,
                    int (*compare)(const void *key, const void *element))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(key, (const char *)list + middle * size) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
