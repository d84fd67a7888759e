/* What happens to a configuration, in words: "changed validating0 validated1". Before this: a function `happens`. */
#pragma once

#include "../test.h"

#include "configuration/event.h"

/* A word's kind and the rest of it; false: it is no kind. */
static inline bool play_kind(const char *word, enum configuration_event_kind *ret, const char **ret_rest)
{
    static const char *const names[] = {
        [CONFIGURATION_CHANGED] = "changed",   [CONFIGURATION_VALIDATED] = "validated",
        [CONFIGURATION_APPLIED] = "applied",   [CONFIGURATION_UNCHANGED] = "unchanged",
        [CONFIGURATION_REJECTED] = "rejected", [CONFIGURATION_LOAD_FAILED] = "load-failed",
        [CONFIGURATION_DRIFTED] = "drifted",   [CONFIGURATION_FAILED] = "failed",
        [CONFIGURATION_STORED] = "stored",     [CONFIGURATION_NOT_STORED] = "not-stored",
        [CONFIGURATION_WRITING] = "writing",   [CONFIGURATION_VALIDATING] = "validating",
        [CONFIGURATION_LOADED] = "loaded",     [CONFIGURATION_GONE] = "gone",
        [CONFIGURATION_REFUSED] = "refused",
    };
    size_t len = strcspn(word, "012:");
    for (size_t i = 0; i < array_len(names); i++)
        if (names[i] != NULL && strlen(names[i]) == len && strncmp(names[i], word, len) == 0) {
            *ret = (enum configuration_event_kind)i;
            *ret_rest = word + len;
            return true;
        }
    return false;
}

static void play_word(const char *word);

static inline void play(const char *script)
{
    cleanup(mem_free_ptr) char *words = mem_strdup(script);
    char *left = NULL;
    for (char *word = strtok_r(words, " ", &left); word != NULL; word = strtok_r(NULL, " ", &left))
        play_word(word);
}
