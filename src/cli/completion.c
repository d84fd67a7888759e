/* `completion`: the files that the package installs, in the program as they are. */
#include <stdlib.h>

#include "base/str.h"
#include "cli/run.h"

/* The assembler reads them, which the Makefile knows, from the root of the tree, where all compilers run. */
#define COMPLETION(shell, file)                        \
    __asm__(".pushsection .rodata\n"                   \
            "completion_" #shell ":\n"                 \
            ".incbin \"deploy/completion/" file "\"\n" \
            ".byte 0\n"                                \
            ".popsection\n");                          \
    extern const char completion_##shell[] __attribute__((visibility("hidden")))

COMPLETION(bash, "haproxy-k8s-sync.bash");
COMPLETION(zsh, "_haproxy-k8s-sync");
COMPLETION(fish, "haproxy-k8s-sync.fish");

int run_completion(const struct run *r)
{
    const char *shell = r->command->operand;
    const char *text = str_eq(shell, "bash")   ? completion_bash
                       : str_eq(shell, "zsh")  ? completion_zsh
                       : str_eq(shell, "fish") ? completion_fish
                                               : NULL;
    struct error err = {0};
    if (text == NULL) {
        (void)error_set(&err, ERROR_INVALID, "completion \"%s\": expected bash, zsh or fish", shell);
        return run_fail(&err, COMMAND_USAGE_EXIT_CODE);
    }
    return fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
