/*
 * The running HAProxy and what is remembered of it as text, beside the words of backend_text.h for file and desired state:
 *
 *     n1 drain; n2 maint; n3 gone; n4 at 10.0.0.9:81; n5 weight 7; x9 ready    what HAProxy runs, where that is not what the
 *                                       file says: every line runs with its address, `disabled` ones in maint, the others
 *                                       ready; x9 has no line
 *     unreadable                        nothing is known of it
 *
 *     n1 theirs drain; n2 ours maint; n3 theirs maint lost; n4 theirs drain parked; n5 sent drain; n6 ours maint sent maint;
 *     n7 ours drain late drain          (the command got no answer)
 *     n8 written                        its line was in maintenance when it was read or written last
 */
#pragma once

#include "backend_text.h"
#include "servers/change/route.h"
#include "haproxy/runtime.h"

static inline enum runtime_admin text_admin(const char *word)
{
    for (int i = RUNTIME_READY; i <= RUNTIME_MAINT; i++)
        if (str_eq(word, runtime_admin_name((enum runtime_admin)i)))
            return (enum runtime_admin)i;
    ck_abort_msg("state \"%s\"", word);
    return RUNTIME_READY;
}

static inline struct runtime_server *text_row(struct runtime *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (str_eq(r->servers[i].name, name))
            return &r->servers[i];
    r->servers = mem_resize(r->servers, r->count + 1, sizeof(r->servers[0]));
    struct runtime_server *s = &r->servers[r->count++];
    *s = (struct runtime_server){.name = shared_text(name), .weight = -1};
    return s;
}

static inline void text_row_words(struct runtime *r, char *words)
{
    struct runtime_server *s = text_row(r, strsep(&words, " "));
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        if (strcmp(word, "gone") == 0) {
            runtime_server_fini(s);
            *s = r->servers[--r->count];
        } else if (strcmp(word, "at") == 0) {
            shared_text_free(s->address);
            text_address(strsep(&words, " "), &s->address, &s->port);
        } else if (strcmp(word, "weight") == 0) {
            s->weight = text_port(strsep(&words, " "));
        } else if (strcmp(word, "unresolved") == 0) {
            s->unresolved = true;
        } else {
            s->admin = text_admin(word);
        }
    }
}

static inline void text_runtime(struct runtime *r, const struct backend *file, const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *rest = copy;
    runtime_init(r);
    if (str_eq(text, "unreadable"))
        return;
    r->readable = true;
    for (size_t i = 0; i < file->server_count; i++) {
        const struct backend_server *line = &file->servers[i];
        struct runtime_server *s = text_row(r, line->name);
        /* In place of that of an earlier line of that name. */
        shared_text_set(&s->address, str_ip_family(line->address) != 0 ? line->address : "10.99.0.1");
        s->port = line->port;
        s->weight = line->weight;
        s->admin = line->maintenance ? RUNTIME_MAINT : RUNTIME_READY;
    }
    for (char *words; (words = strsep(&rest, ";")) != NULL;)
        if (words[0] != '\0')
            text_row_words(r, words + (words[0] == ' '));
    runtime_sort(r);
}

static inline void text_mark(struct admin_states *m, char *words)
{
    m->marks = mem_resize(m->marks, m->count + 1, sizeof(m->marks[0]));
    struct admin_state *mark = &m->marks[m->count++];
    *mark = (struct admin_state){.name = mem_strdup(strsep(&words, " "))};
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        if (strcmp(word, "theirs") == 0)
            mark->theirs = text_admin(strsep(&words, " "));
        else if (strcmp(word, "ours") == 0)
            mark->ours = text_admin(strsep(&words, " "));
        else if (strcmp(word, "sent") == 0) {
            mark->unseen = true;
            mark->commanded = text_admin(strsep(&words, " "));
        } else if (strcmp(word, "late") == 0) {
            mark->late = text_admin(strsep(&words, " "));
            mark->late_periods = 1;
            mark->unanswered = true;
        } else if (strcmp(word, "lost") == 0)
            mark->lost = true;
        else if (strcmp(word, "parked") == 0)
            mark->parked = true;
        else if (strcmp(word, "written") == 0)
            mark->in_file = true;
        else
            ck_abort_msg("memory word \"%s\"", word);
    }
}

/* Names in their order. */
static inline void text_memory(struct admin_states *m, const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *rest = copy;
    *m = (struct admin_states){.known = true};
    for (char *words; (words = strsep(&rest, ";")) != NULL;)
        if (words[0] != '\0')
            text_mark(m, words + (words[0] == ' '));
}

static inline char *text_of_memory(const struct admin_states *m)
{
    struct buf b = {0};
    for (size_t i = 0; i < m->count; i++) {
        const struct admin_state *mark = &m->marks[i];
        buf_printf(&b, "%s%s", i > 0 ? "; " : "", mark->name);
        if (mark->theirs != RUNTIME_READY)
            buf_printf(&b, " theirs %s", runtime_admin_name(mark->theirs));
        if (mark->ours != RUNTIME_READY)
            buf_printf(&b, " ours %s", runtime_admin_name(mark->ours));
        buf_printf(&b, "%s%s", mark->lost ? " lost" : "", mark->parked ? " parked" : "");
        if (mark->unseen)
            buf_printf(&b, " sent %s", runtime_admin_name(mark->commanded));
        buf_add(&b, mark->unanswered ? " unanswered" : "");
    }
    return buf_take(&b);
}
