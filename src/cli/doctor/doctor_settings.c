#include "cli/doctor/doctor_settings.h"

#include <stdlib.h>

#include "base/buf.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_report.h"

static const char id[] = "settings";

static void report_findings(const struct settings_findings *findings, struct doctor_section *s)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct settings_finding *f = &findings->list[i];
        if (f->is_error)
            doctor_fail(s, id, "setting", "%s", f->text);
        else
            doctor_warn(s, id, "setting", "%s", f->text);
    }
}

static void report_dry_run(struct doctor_section *s)
{
    struct doctor_check *c = doctor_warn(s, "settings.dry-run", "DRY_RUN", "is set: the daemon writes nothing");
    doctor_why(c, "it watches and logs what it would do, beside another controller perhaps");
    doctor_fix(c, "to let it write", "DRY_RUN=false");
}

void doctor_settings_report(const struct settings *settings, const struct settings_findings *findings,
                            const char *version, struct doctor_section *s)
{
    doctor_ok(s, "settings.program", "program", "haproxy-k8s-sync %s", version);
    report_findings(findings, s);
    if (settings == NULL) {
        struct doctor_check *c =
            doctor_skip(s, "settings.others", "everything else", "needs settings that can be used");
        doctor_fix(c, "see all of them with their meanings", "haproxy-k8s-sync --help");
        return;
    }
    cleanup(buf_fini) struct buf services;
    buf_init(&services, 0);
    settings_print_mappings(settings, &services);
    doctor_ok(s, id, "settings", "%d given, the others by default; to keep in step: %s",
              __builtin_popcountll(settings->given), buf_str(&services));
    if (settings->dry_run)
        report_dry_run(s);
}
