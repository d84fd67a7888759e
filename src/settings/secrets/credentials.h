/* User name, password and token of the Data Plane API: each as a value or as a file, and which of them go together. */
#ifndef SETTINGS_SECRETS_CREDENTIALS_H
#define SETTINGS_SECRETS_CREDENTIALS_H

struct settings;
struct settings_findings;

/* Sets the secrets of c and their bits of c->given, reads the files, reports what is wrong. */
void credentials_parse(char *const *env, struct settings *c, struct settings_findings *found);

#endif
