/* The checks of SPIFFE: the Workload API, the daemon's identity, and that of each Data Plane API. */
#ifndef CLI_DOCTOR_DOCTOR_SPIFFE_H
#define CLI_DOCTOR_DOCTOR_SPIFFE_H

struct doctor_section;
struct spiffe;

void doctor_spiffe_report(const struct spiffe *spiffe, struct doctor_section *s);

/* Of the server at that URL, which was spoken to. */
void doctor_spiffe_report_peer(const struct spiffe *spiffe, const char *url, struct doctor_section *s);

#endif
