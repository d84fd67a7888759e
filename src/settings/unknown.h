/* Variables that look as if they were meant for us and are none of ours: no wrong name is ignored in silence. */
#ifndef SETTINGS_UNKNOWN_H
#define SETTINGS_UNKNOWN_H

struct settings_findings;

/* A warning for each, with the name that was probably meant; an error where that is a setting of safety and no wild
 * guess. Their values are never shown: they may be secrets. */
void unknown_report(char *const *env, struct settings_findings *found);

#endif
