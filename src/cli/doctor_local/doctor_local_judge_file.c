/* The file, the program, and what the one says of the other. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/helper.h"
#include "haproxy/validation_text.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor_local/doctor_local_judge.h"

#define OLDEST_MAJOR 2
#define OLDEST_MINOR 6
#define NAMES_SHOWN 10

static const char write_id[] = "haproxy.write", write_label[] = "write";

/* ---- found and read ---- */

/* Allocates. */
static char *judge_errno(int number)
{
    errno = number;
    return mem_printf("%m");
}

static void judge_missing(const struct local_judged *in, struct doctor_section *s)
{
    const struct local_facts *f = in->facts;
    cleanup(mem_free_ptr) char *why = judge_errno(f->file.error);
    struct doctor_check *c =
        f->file.link != NULL ? doctor_fail(s, "haproxy.config", "haproxy.cfg", "is a link to %s: %s", f->file.link, why)
                             : doctor_fail(s, "haproxy.config", "haproxy.cfg", "%s: %s", f->file.path, why);
    doctor_why(c, "the daemon manages this file; nothing is written without it");
    doctor_advice(c,
                  f->file.error == EACCES ? "let user %s enter each of its folders (x)"
                                          : "create it, readable and writable for user %s",
                  f->self.user);
}

static bool judge_config(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.config", label[] = "haproxy.cfg";
    const struct local_file_facts *f = &in->facts->file;
    if (f->real == NULL) {
        judge_missing(in, s);
        return false;
    }
    if (!f->is_regular || f->size > LOCAL_FILE_MAX_BYTES) {
        struct doctor_check *c = f->is_regular
                                     ? doctor_fail(s, id, label, "%" PRIu64 " bytes; at most %zu are supported",
                                                   f->size, (size_t)LOCAL_FILE_MAX_BYTES)
                                     : doctor_fail(s, id, label, "%s is no file", f->real);
        doctor_advice(c, "set HAPROXY_CONFIG_FILE to the one file that the daemon manages; list further ones in "
                         "HAPROXY_CHECK_FILES");
        return false;
    }
    if (f->read_error != 0) {
        struct doctor_check *c =
            doctor_fail(s, id, label, "user %s may not read %s (%s:%s, mode %04o)", in->facts->self.user, f->real,
                        f->owner.user, f->owner.group, f->owner.mode);
        doctor_fix(c, "as root", "chown %s %s", in->facts->self.user, f->real);
        return false;
    }
    doctor_ok(s, id, label, "%s%s%s%" PRIu64 " bytes, %s:%s, mode %04o", f->link != NULL ? "a link to " : "",
              f->link != NULL ? f->real : "", f->link != NULL ? ", which is followed and stays: " : "", f->size,
              f->owner.user, f->owner.group, f->owner.mode);
    return true;
}

/* ---- replaced ---- */

static void judge_folder_closed(const struct local_facts *f, struct doctor_section *s)
{
    const struct local_file_facts *file = &f->file;
    const struct local_owner *o = &file->folder_owner;
    struct doctor_check *c;
    if (file->folder_error == EROFS) {
        c = doctor_fail(s, write_id, write_label, "%s is read-only for this process", file->folder);
        doctor_fix(c, "under systemd, in the daemon's unit (systemctl edit haproxy-k8s-sync)",
                   "[Service]\nReadWritePaths=%s", file->folder);
        doctor_advice(c,
                      "in a pod, mount the volume that has haproxy.cfg without readOnly, and into both containers; a "
                      "ConfigMap cannot be written to");
    } else if (file->folder_error == EPERM) {
        c = doctor_fail(s, write_id, write_label, "%s has the attribute \"immutable\"", file->folder);
        doctor_fix(c, "as root", "chattr -i %s", file->folder);
    } else if (file->folder_error == EACCES) {
        c = doctor_fail(s, write_id, write_label, "user %s may not make a file in %s (%s:%s, mode %04o)", f->self.user,
                        file->folder, o->user, o->group, o->mode);
        /* Never HAProxy's own: its workers would write what its master runs. */
        doctor_fix(c, "as root, let its group write there", "chgrp %s %s\nchmod g+wx %s", f->self.group, file->folder,
                   file->folder);
    } else {
        cleanup(mem_free_ptr) char *text = judge_errno(file->folder_error);
        c = doctor_fail(s, write_id, write_label, "%s: %s", file->folder, text);
    }
    doctor_why(c, "each change is written to a file beside haproxy.cfg, which is then renamed to it");
}

static void judge_rename(const struct local_facts *f, struct doctor_section *s)
{
    const struct local_file_facts *file = &f->file;
    if (file->is_mount) {
        struct doctor_check *c =
            doctor_fail(s, write_id, write_label, "%s is mounted by itself: no file can be renamed to it", file->real);
        doctor_why(c, "each change is a new file that is renamed to this one; a bind mount of one file, or subPath of "
                      "a pod's volume, would keep the old one");
        doctor_advice(c, "mount the folder that it is in, not the file, and into HAProxy's container, too");
    }
    if (file->replace_error == EPERM) {
        struct doctor_check *c =
            doctor_fail(s, write_id, write_label, "%s has the attribute \"immutable\"", file->real);
        doctor_fix(c, "as root", "chattr -i %s", file->real);
    }
    if (file->folder_is_sticky && !file->owner.is_us && !file->folder_owner.is_us && !f->self.is_over_stickies) {
        struct doctor_check *c =
            doctor_fail(s, write_id, write_label, "%s is sticky (mode %04o), and haproxy.cfg in it belongs to %s",
                        file->folder, file->folder_owner.mode, file->owner.user);
        doctor_why(c, "in such a folder only the owner of a file may replace it");
        doctor_fix(c, "as root", "chmod -t %s", file->folder);
    }
}

/* The new file gets what the old one has, or there is no new one. */
static void judge_kept(const struct local_facts *f, struct doctor_section *s)
{
    const struct local_owner *o = &f->file.owner;
    if (f->self.may_give_files)
        return;
    if (!o->is_us) {
        struct doctor_check *c =
            doctor_fail(s, write_id, write_label, "%s belongs to user %s, and only root could give a new file to it",
                        f->file.real, o->user);
        doctor_why(c, "a change keeps owner, group and mode of haproxy.cfg, or it is not made");
        doctor_fix(c, "as root", "chown %s %s", f->self.user, f->file.real);
    }
    if (!o->is_our_group) {
        struct doctor_check *c = doctor_fail(s, write_id, write_label, "%s is of group %s, which user %s is not in",
                                             f->file.real, o->group, f->self.user);
        doctor_why(c, "a change keeps owner, group and mode of haproxy.cfg, or it is not made");
        doctor_fix(c, "under systemd, in the daemon's unit (systemctl edit haproxy-k8s-sync)",
                   "[Service]\nSupplementaryGroups=%s", o->group);
        doctor_fix(c, "as root", "chgrp %s %s", f->self.group, f->file.real);
    }
}

static void judge_write(const struct local_judged *in, struct doctor_section *s)
{
    const struct local_facts *f = in->facts;
    size_t before = s->check_count;
    if (f->file.real == NULL || !f->file.is_regular) {
        doctor_skip(s, write_id, write_label, "needs haproxy.cfg, see above");
        return;
    }
    if (f->file.folder_error != 0)
        judge_folder_closed(f, s);
    judge_rename(f, s);
    if (f->file.folder_error == 0)
        judge_kept(f, s);
    if (s->check_count == before)
        doctor_ok(s, write_id, write_label, "user %s may replace it in %s; owner, group and mode are kept",
                  f->self.user, f->file.folder);
}

/* ---- one daemon for each file ---- */

static void judge_lock(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.lock", label[] = "one daemon";
    const struct local_facts *f = in->facts;
    if (f->file.real == NULL)
        return;
    if (f->file.lock_error != 0) {
        cleanup(mem_free_ptr) char *why = judge_errno(f->file.lock_error);
        struct doctor_check *c =
            doctor_fail(s, id, label, "user %s cannot open the lock %s: %s", f->self.user, f->file.lock, why);
        doctor_why(c, "a daemon of another user left it; without the lock nothing is written");
        doctor_fix(c, "as root, while no daemon runs", "rm %s", f->file.lock);
    } else if (f->file.lock_held && f->file.lock_pid > 0) {
        doctor_ok(s, id, label, "process %d manages this file; a second daemon would wait until it ends",
                  (int)f->file.lock_pid);
    } else if (f->file.lock_held) {
        doctor_ok(s, id, label, "a daemon manages this file; a second one would wait until it ends");
    } else {
        doctor_ok(s, id, label, "no daemon manages this file now");
    }
}

void local_judge_file(const struct local_judged *in, struct doctor_section *s)
{
    (void)judge_config(in, s);
    judge_write(in, s);
    judge_lock(in, s);
}

/* ---- the program ---- */

bool local_version_read(const char *said, struct local_version *ret)
{
    static const char *const starts[] = {"HAProxy version ", "HA-Proxy version "};
    for (size_t i = 0; i < array_len(starts); i++) {
        const char *at = str_has_prefix(said, starts[i]) ? said + strlen(starts[i]) : said;
        uint64_t major, minor;
        size_t first = strspn(at, "0123456789"), second = at[first] == '.' ? strspn(at + first + 1, "0123456789") : 0;
        cleanup(mem_free_ptr) char *one = mem_strndup(at, first);
        cleanup(mem_free_ptr) char *two = mem_strndup(at[first] == '.' ? at + first + 1 : "", second);
        if (at == said || str_parse_uint(one, 1000, &major) != 0 || str_parse_uint(two, 1000, &minor) != 0)
            continue;
        *ret = (struct local_version){.major = (unsigned)major, .minor = (unsigned)minor};
        snprintf(ret->text, sizeof(ret->text), "%.*s", (int)strcspn(at, " \n"), at);
        return true;
    }
    return false;
}

bool local_version_is_old(const struct local_version *v)
{
    return v->major < OLDEST_MAJOR || (v->major == OLDEST_MAJOR && v->minor < OLDEST_MINOR);
}

static void judge_version(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.program", label[] = "program";
    const struct local_facts *f = in->facts;
    struct local_version v;
    struct doctor_check *c;
    if (f->program == NULL || f->version.problem != NULL) {
        c = f->program == NULL ? doctor_fail(s, id, label, "%s: no such program that user %s may run",
                                             in->settings->local.program, f->self.user)
                               : doctor_fail(s, id, label, "%s", f->version.problem);
        doctor_why(c, "each change is checked by it (haproxy -c) before it is written");
        doctor_fix(c, "name the one that runs here", "HAPROXY_BIN=/usr/sbin/haproxy");
        doctor_advice(c, "in a pod beside HAProxy, use an image that has the same HAProxy in it");
    } else if (!local_version_read(f->version.out != NULL ? f->version.out : "", &v)) {
        c = doctor_fail(s, id, label, "%s -v does not answer as a HAProxy does", f->program);
        doctor_fix(c, "name the one that runs here", "HAPROXY_BIN=/usr/sbin/haproxy");
    } else if (local_version_is_old(&v)) {
        c = doctor_fail(s, id, label, "%s is HAProxy %s; %d.%d or later is needed", f->program, v.text, OLDEST_MAJOR,
                        OLDEST_MINOR);
        doctor_why(c, "before it, servers cannot be added and removed while it runs");
        doctor_advice(c, "upgrade HAProxy");
    } else {
        doctor_ok(s, id, label, "%s is HAProxy %s", f->program, v.text);
    }
}

char *local_judged_files(const struct local_judged *in)
{
    const struct settings_local *l = &in->settings->local;
    struct buf line = {0};
    bool listed = false;
    for (size_t i = 0; i < l->check_files.count; i++) {
        buf_printf(&line, " -f %s", l->check_files.list[i]);
        listed = listed || str_eq(l->check_files.list[i], l->file);
    }
    if (!listed)
        buf_printf(&line, " -f %s", l->file);
    return buf_take(&line);
}

static void judge_check(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.check", label[] = "haproxy -c";
    const struct local_facts *f = in->facts;
    const struct local_run *r = &f->check;
    struct doctor_check *c;
    if (!r->asked) {
        doctor_skip(s, id, label, "needs %s", f->program == NULL ? "HAPROXY_BIN" : "haproxy.cfg");
        return;
    }
    if (r->problem == NULL && !r->refused) {
        doctor_ok(s, id, label, "takes the file as it is, %.1f ms", (double)r->took_us / 1000.0);
        return;
    }
    if (r->problem != NULL) {
        c = doctor_fail(s, id, label, "%s", r->problem);
    } else {
        cleanup(mem_free_ptr) char *text = validation_text_of_program(r->out, in->settings->local.file, NULL);
        c = doctor_fail(s, id, label, "refuses the file: %s", text);
    }
    doctor_why(c, "each change is checked with the rest of the file, as user %s: until this works, none is written",
               f->self.user);
    cleanup(mem_free_ptr) char *files = local_judged_files(in);
    doctor_fix(c, "see its whole output", "%s -c%s", f->program, files);
}

/* Those that `haproxy -c` has by itself. */
static bool environment_is_haproxys(const char *name)
{
    static const char *const own[] = {"HAPROXY_BRANCH",         "HAPROXY_CFGFILES",   "HAPROXY_CLI",
                                      "HAPROXY_LOCALPEER",      "HAPROXY_MASTER_CLI", "HAPROXY_MWORKER",
                                      "HAPROXY_STARTUP_VERSION"};
    const char *end = str_has_prefix(name, "HAPROXY_") ? strstr(name, "_LOG_FMT") : NULL;
    return (end != NULL && str_eq(end, "_LOG_FMT")) || cfg_is_among(name, own, array_len(own));
}

/* What stands behind "NAME=" of a line, or a string, of that text; *ret_len bytes. NULL: nothing. */
static const char *environment_value(const struct buf *text, const char *name, char between, size_t *ret_len)
{
    size_t len = strlen(name);
    for (const char *at = text->data, *end = at + text->len, *next; at != NULL && at < end; at = next + 1) {
        next = memchr(at, between, (size_t)(end - at));
        next = next != NULL ? next : end;
        if ((size_t)(next - at) > len && memcmp(at, name, len) == 0 && at[len] == '=') {
            *ret_len = (size_t)(next - at) - len - 1;
            return at + len + 1;
        }
    }
    return NULL;
}

/* The variables of haproxy.cfg that the check has not as HAProxy has them; or, where HAProxy's are not known, has not at all. NULL:
 * none. Allocates. */
static char *environment_differs(const struct local_facts *f)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < f->global.variable_count; i++) {
        const char *name = f->global.variables[i];
        size_t len = 0, shown_len = 0;
        const char *value = environment_value(&f->environment, name, '\0', &len);
        const char *shown = environment_value(&f->shown_environment, name, '\n', &shown_len);
        bool same = f->shows_environment ? (value != NULL) == (shown != NULL) &&
                                               (value == NULL || (len == shown_len && memcmp(value, shown, len) == 0))
                                         : value != NULL;
        if (!same && !environment_is_haproxys(name) && text_list_next(&names))
            buf_add(&names.text, name);
    }
    return text_list_take(&names);
}

static void judge_environment(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.environment", label[] = "environment";
    const struct local_facts *f = in->facts;
    const char *file = in->settings->local.environment_file;
    const char *by = f->stats.path != NULL ? f->stats.path : "the master's socket";
    if (f->environment.len == 0) {
        doctor_skip(s, id, label, "needs haproxy -c, see above");
        return;
    }
    cleanup(mem_free_ptr) char *names = f->shows_environment && file == NULL ? NULL : environment_differs(f);
    cleanup(mem_free_ptr) char *of = file != NULL           ? mem_printf("that of %s", file)
                                     : f->shows_environment ? mem_printf("HAProxy's own (show env, by %s)", by)
                                                            : mem_strdup("none but PATH, as no socket shows HAProxy's");
    if (names == NULL) {
        doctor_ok(s, id, label, "of haproxy -c: %s", of);
        return;
    }
    struct doctor_check *c =
        doctor_warn(s, id, label, "of haproxy -c: %s; %s %s", of,
                    f->shows_environment ? "HAProxy has other values of" : "haproxy.cfg uses, and it has not", names);
    doctor_why(c,
               "haproxy.cfg means to the check what it does not mean to HAProxy: what HAProxy refuses may be written");
    if (file != NULL && f->shows_environment)
        doctor_fix(c, "let HAProxy be asked for its own", "HAPROXY_ENVIRONMENT_FILE=");
    else if (file != NULL)
        doctor_advice(c, "add them to %s as HAProxy has them", file);
    else
        doctor_fix(c, "name a file that has them, or let a socket of level admin show them",
                   "HAPROXY_ENVIRONMENT_FILE=/etc/default/haproxy");
}

void local_judge_program(const struct local_judged *in, struct doctor_section *s)
{
    judge_version(in, s);
    judge_check(in, s);
    judge_environment(in, s);
}
