/* The checks of the settings themselves. Pure. */
#ifndef CLI_DOCTOR_DOCTOR_SETTINGS_H
#define CLI_DOCTOR_DOCTOR_SETTINGS_H

struct settings;
struct settings_findings;
struct doctor_section;

/* settings NULL: they cannot be used. version: of this program. */
void doctor_settings_report(const struct settings *settings, const struct settings_findings *findings,
                            const char *version, struct doctor_section *s);

#endif
