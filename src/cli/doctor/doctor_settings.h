/* The checks of the settings themselves. Pure. */
#ifndef CLI_DOCTOR_DOCTOR_SETTINGS_H
#define CLI_DOCTOR_DOCTOR_SETTINGS_H

struct config;
struct config_report;
struct doctor_section;

/* config NULL: they cannot be used. version: of this program. */
void doctor_settings_report(const struct config *config, const struct config_report *findings, const char *version,
                            struct doctor_section *s);

#endif
