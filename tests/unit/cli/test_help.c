/* src/cli/help and src/cli/command_table: what help shows, and that it shows each command. */

#include "cli/command.h"

#include "../test.h"

#define SCREEN_LINES 24
#define SCREEN_COLUMNS 80

static char *help(enum command_help about, const char *word, const char *sub, const char *operand)
{
    struct buf out = {0};
    const struct command c = {.kind = COMMAND_HELP,
                              .help = about,
                              .row = word != NULL ? command_find(word, sub) : NULL,
                              .is_whole = sub == NULL,
                              .operand = operand};
    if (help_print(&c, &out, &flaw) != 0) {
        buf_fini(&out);
        return mem_strdup(flaw.message);
    }
    return buf_take(&out);
}

/* It fits a terminal of the usual size, and the place where its commands stand holds each that has a line. */
TEST(the_usual_fits_a_screen)
{
    cleanup(mem_free_ptr) char *text = help(COMMAND_HELP_SCREEN, NULL, NULL, NULL);
    size_t lines = 0;
    for (const char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1, lines++)
        ck_assert_msg(strcspn(p, "\n") <= SCREEN_COLUMNS, "%.*s", (int)strcspn(p, "\n"), p);
    ck_assert_uint_le(lines, SCREEN_LINES);
    static const char *const words[] = {
        "--kubeconfig", "--dry-run", "--log-level",        "-v ",     "-o json",   "help settings",  "help all",
        "64",           "78",        "docs/exit-codes.md", "  plan ", "  doctor ", "  explain NODE", "rollback"};
    for (size_t i = 0; i < array_len(words); i++)
        ck_assert_msg(strstr(text, words[i]) != NULL, "no %s", words[i]);
}

TEST(all_has_each_command)
{
    cleanup(mem_free_ptr) char *text = help(COMMAND_HELP_ALL, NULL, NULL, NULL);
    for (const struct command_row *row = command_table; row->word != NULL; row++) {
        cleanup(mem_free_ptr) char *usage = mem_printf("       haproxy-k8s-sync %s%s%s", row->word,
                                                       row->sub != NULL ? " " : "", row->sub != NULL ? row->sub : "");
        ck_assert_msg(strstr(text, usage) != NULL, "no %s", usage);
        ck_assert_msg(row->help != NULL && (row->operand == NULL || row->operand[0] == '[' || row->what != NULL),
                      "%s is not whole", usage);
    }
    ck_assert(strstr(text, "SIGTERM") != NULL && strstr(text, "SIGHUP") != NULL);
    ck_assert(
        strstr(text,
               "\nThe daemon, watch, apply, release --yes, config apply, config rollback and copy-to write; all") !=
        NULL);
}

/* Each is a line that this program takes. */
TEST(examples_can_be_copied)
{
    size_t count = 0;
    for (const struct command_row *row = command_table; row->word != NULL; row++) {
        cleanup(mem_free_ptr) char *text = help(COMMAND_HELP_ROW, row->word, row->sub, NULL);
        for (const char *at = row->examples; at != NULL && *at != '\0'; at += strcspn(at, "\n") + 1, count++) {
            cleanup(mem_free_ptr) char *line = mem_strndup(at, strcspn(at, "\n"));
            cleanup(mem_free_ptr) char *shown = mem_printf(" haproxy-k8s-sync %s\n", line);
            ck_assert_msg(strstr(text, shown) != NULL, "%s is not in\n%s", line, text);
            char program[] = "haproxy-k8s-sync", *argv[8] = {program}, *rest = line;
            int argc = 1;
            for (char *word; (word = strsep(&rest, " ")) != NULL; argc++)
                argv[argc] = word;
            struct command c;
            ck_assert_msg(command_parse(argc, argv, &c, &flaw) == 0 && c.row == row, "%s: %s", shown, flaw.message);
        }
    }
    ck_assert_uint_gt(count, 15);
}

TEST(one_command_alone)
{
    cleanup(mem_free_ptr) char *plan = help(COMMAND_HELP_ROW, "plan", NULL, NULL);
    ck_assert(str_has_prefix(plan, "usage: haproxy-k8s-sync plan\n"));
    ck_assert(strstr(plan, "[--daemon=URL]") != NULL && strstr(plan, "0 in sync, 2 changes, 1 unknown") != NULL);
    ck_assert_ptr_null(strstr(plan, "explain"));
    cleanup(mem_free_ptr) char *config = help(COMMAND_HELP_ROW, "config", NULL, NULL);
    ck_assert(strstr(config, "config plan [FILE]") != NULL && strstr(config, "config rollback [N]") != NULL);
    cleanup(mem_free_ptr) char *apply = help(COMMAND_HELP_ROW, "config", "apply", NULL);
    ck_assert(str_has_prefix(apply, "usage: haproxy-k8s-sync config apply [FILE]\n"));
    ck_assert_ptr_null(strstr(apply, "rollback"));
    cleanup(mem_free_ptr) char *copy = help(COMMAND_HELP_ROW, "copy-to", NULL, NULL);
    ck_assert_ptr_null(strstr(copy, "--kubeconfig"));
}

TEST(settings_by_name)
{
    cleanup(mem_free_ptr) char *all = help(COMMAND_HELP_SETTINGS, NULL, NULL, NULL);
    cleanup(mem_free_ptr) char *one = help(COMMAND_HELP_SETTINGS, NULL, NULL, "PARK_TTL");
    cleanup(mem_free_ptr) char *wrong = help(COMMAND_HELP_SETTINGS, NULL, NULL, "PARK_TLT");
    ck_assert(strstr(all, "\n  PARK_TTL\n") != NULL && strstr(all, "\n  DRY_RUN\n") != NULL);
    ck_assert(str_has_prefix(one, "  PARK_TTL\n") && strstr(one, "  DRY_RUN\n") == NULL);
    ck_assert_str_eq(wrong, "unknown setting \"PARK_TLT\"; did you mean PARK_TTL?");
    cleanup(mem_free_ptr) char *old = help(COMMAND_HELP_SETTINGS, NULL, NULL, "ETCD_KEEP");
    ck_assert_str_eq(old, "ETCD_KEEP is no longer a setting: the last 5 versions are always kept");
}
