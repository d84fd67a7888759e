#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/environment.h"
#include "settings/parse.h"
#include "settings/table.h"

#define NAME_MAX_BYTES 64
#define KNOWN_MAX (2 * SETTINGS_MAX)
#define SHORT_NAME 10     /* up to this length, two edits away is another name */
#define PREFIX "HAPROXY_" /* of most settings, and easily left out */

/* Settings of old, and what takes their place. */
static const struct {
    const char *name, *instead;
} removed[] = {
    {"HAPROXY_RELOAD", "HAPROXY_MASTER_SOCKET reloads HAProxy or, where it is set, HAPROXY_RELOAD_COMMAND"},
    {"HAPROXY_MAPS_DIR", "it is maps in HAPROXY_STORAGE_DIR"},
    {"HAPROXY_CERTS_DIR", "it is ssl in HAPROXY_STORAGE_DIR"},
    {"HAPROXY_FILES_DIR", "it is general in HAPROXY_STORAGE_DIR"},
    {"PROXY_FROM_ENVIRONMENT",
     "name a proxy in front of the API server as proxy-url in the kubeconfig; nothing else goes through one"},
    {"KUBE_ENCODING", "the daemon reads protobuf, and JSON where a server has none or one that cannot be read"},
    {"CONFIG_REQUIRE_ALL",
     "a HAProxy that does not answer gets the configuration once it is back, and the others do not wait for it"},
    {"ETCD_KEEP", "the last 5 versions are always kept"},
    {"TEMPLATE_MEMORY", "a render may always take 256 MB beside the objects"},
    {"TEMPLATE_REFRACTORY",
     "changes within 100 ms are always rendered together; CONFIG_MIN_INTERVAL is between configurations"},
    {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "set OTEL_EXPORTER_OTLP_ENDPOINT, to which /v1/traces is appended"},
    {"OTEL_EXPORTER_OTLP_TIMEOUT", "the collector has always 10 s to answer"},
    {"OTEL_EXPORTER_OTLP_PROTOCOL", "traces always go as http/json, which collectors accept at port 4318"},
    {"OTEL_SERVICE_NAME", "set service.name in OTEL_RESOURCE_ATTRIBUTES"},
    {"OTEL_TRACES_SAMPLER", "all traces are recorded; the collector can sample them"},
    {"OTEL_TRACES_SAMPLER_ARG", "all traces are recorded; the collector can sample them"},
    {"OTEL_SDK_DISABLED", "without OTEL_EXPORTER_OTLP_ENDPOINT there are no traces"},
};

#define FILE_SUFFIX "_FILE"

struct known {
    struct known_name {
        char name[NAME_MAX_BYTES];
        const struct setting *row;
    } list[KNOWN_MAX];
    size_t count;
};

/* Aliases are no names to guess: some are as short as MODE. */
static bool unknown_is_setting(const char *name, bool aliases)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        size_t len = strlen(row->name);
        bool file = row->or_file && str_has_prefix(name, row->name) && str_eq(name + len, FILE_SUFFIX);
        if (file || str_eq(row->name, name) || (aliases && str_eq(row->alias, name)))
            return true;
    }
    return false;
}

/* No other program uses these prefixes, but HAProxy itself (for the programs that it starts, and in its image). */
static bool has_our_prefix(const char *name)
{
    static const char *const prefixes[] = {"HAPROXY_", "INGRESS_", "DATAPLANE_", "RESYNC_",     "DRAIN_",
                                           "MAX_LOSS", "PARK_",    "DRY_RUN",    "LEADER_ELECT"};
    static const char *const foreign[] = {"HAPROXY_VERSION",
                                          "HAPROXY_SHA256",
                                          "HAPROXY_BRANCH",
                                          "HAPROXY_MWORKER",
                                          "HAPROXY_CLI",
                                          "HAPROXY_MASTER_CLI",
                                          "HAPROXY_CFGFILES",
                                          "HAPROXY_LOCALPEER",
                                          "HAPROXY_TCP_LOG_FMT",
                                          "HAPROXY_HTTP_LOG_FMT",
                                          "HAPROXY_HTTPS_LOG_FMT",
                                          "HAPROXY_TCP_CLF_LOG_FMT",
                                          "HAPROXY_HTTP_CLF_LOG_FMT",
                                          "HAPROXY_STARTUP_VERSION"};
    for (size_t i = 0; i < array_len(foreign); i++)
        if (str_eq(name, foreign[i]))
            return false;
    for (size_t i = 0; i < array_len(prefixes); i++)
        if (str_has_prefix(name, prefixes[i]))
            return true;
    return false;
}

/* Whether each of the words between '_' of name is one of known's. */
static bool words_are_in(const char *name, const char *known)
{
    for (const char *word = name;; word++) {
        size_t len = strcspn(word, "_");
        bool found = false;
        for (const char *k = known; !found; k++) {
            size_t known_len = strcspn(k, "_");
            found = len == known_len && strncmp(word, k, len) == 0;
            k += known_len;
            if (*k == '\0')
                break;
        }
        if (!found)
            return false;
        word += len;
        if (*word == '\0')
            return true;
    }
}

/* How likely name is meant for known, as a rank that is smaller the likelier; UNLIKELY: it is not. Tighter questions
 * first, and among the answers to one of them the name with the fewest other letters. */
#define UNLIKELY SIZE_MAX
#define ANSWER(question, distance) ((question) * (size_t)1000 + (distance))

/* A name with a prefix that only settings have. */
static size_t rank_of_ours(const char *name, const char *known)
{
    const char *rest = name + strcspn(name, "_");
    size_t len = strlen(name), known_len = strlen(known), most = known_len <= SHORT_NAME ? 1 : 2;
    size_t edits = str_distance(name, known, most);
    return *rest != '\0' && str_eq(known, rest + 1)                ? ANSWER(0, 0) /* HAPROXY_LOG_LEVEL */
           : words_are_in(name, known)                             ? ANSWER(1, known_len)
           : str_has_prefix(known, name)                           ? ANSWER(2, known_len)
           : str_has_prefix(name, known) && name[known_len] == '_' ? ANSWER(3, len - known_len)
           : edits <= most                                         ? ANSWER(4, edits)
                                                                   : UNLIKELY;
}

/* Where none of that helps: behind PREFIX, where most settings are, good for a hint only. */
static size_t rank_of_guess(const char *name, const char *known)
{
    size_t edits = str_distance(name, known, strlen(name) / 3);
    return edits <= strlen(name) / 3 ? edits : UNLIKELY;
}

/* A name that may belong to another program. */
static size_t rank_of_any(const char *name, const char *known)
{
    size_t len = strlen(name), known_len = strlen(known), most = known_len <= SHORT_NAME ? 1 : 2;
    size_t edits = str_distance(name, known, most);
    return str_has_prefix(known, name) && len * 100 >= known_len * 70              ? ANSWER(0, known_len)
           : edits <= most                                                         ? ANSWER(1, edits)
           : str_has_prefix(known, PREFIX) && str_eq(known + strlen(PREFIX), name) ? ANSWER(2, 0)
                                                                                   : UNLIKELY;
}

static const struct known_name *unknown_nearest(const struct known *k, const char *name,
                                                size_t (*rank)(const char *, const char *))
{
    const struct known_name *best = NULL;
    size_t least = UNLIKELY;
    for (size_t i = 0; i < k->count; i++) {
        size_t r = rank(name, k->list[i].name);
        if (r < least) {
            least = r;
            best = &k->list[i];
        }
    }
    return best;
}

/* The one known name with the same first word, or NULL. */
static const struct known_name *unknown_only_with_first_word(const struct known *k, const char *name)
{
    const struct known_name *only = NULL;
    size_t len = strcspn(name, "_") + 1;
    for (size_t i = 0; i < k->count; i++)
        if (strncmp(k->list[i].name, name, len) == 0) {
            if (only != NULL)
                return NULL;
            only = &k->list[i];
        }
    return only;
}

const char *settings_instead_of(const char *name)
{
    for (size_t i = 0; i < array_len(removed); i++)
        if (str_eq(name, removed[i].name))
            return removed[i].instead;
    return NULL;
}

/* OpenTelemetry's names are set for all containers of a namespace: without traces here they say nothing. */
static bool removed_report(const char *name, bool traces, struct settings_findings *found)
{
    const char *instead = settings_instead_of(name);
    if (instead != NULL && str_has_prefix(name, "OTEL_") && !traces)
        finding_warning(found, "%s is not used: %s", name, instead);
    else if (instead != NULL)
        finding_error(found, "%s is no longer a setting, remove it: %s", name, instead);
    return instead != NULL;
}

static void unknown_report_one(const struct known *k, const char *name, struct settings_findings *found)
{
    char upper[NAME_MAX_BYTES];
    size_t len = strlen(name);
    for (size_t i = 0; i <= len; i++)
        upper[i] = name[i] == '-' || name[i] == '.' ? '_' : (char)toupper((unsigned char)name[i]);
    bool ours = has_our_prefix(upper);
    const struct known_name *meant = unknown_nearest(k, upper, ours ? rank_of_ours : rank_of_any), *suggestion = meant;
    if (suggestion == NULL && ours)
        suggestion = unknown_nearest(k, upper, rank_of_guess);
    if (suggestion == NULL && ours)
        suggestion = unknown_only_with_first_word(k, upper);
    bool is_sure = meant != NULL || !str_has_prefix(upper, PREFIX);
    if (suggestion == NULL && !ours)
        return;
    cleanup(mem_free_ptr) char *quoted = finding_quoted(name);
    if (suggestion != NULL && is_sure && suggestion->row->safety)
        finding_error(found,
                      "%s is not a setting of this program; did you mean %s? It is not safe to ignore it: correct the "
                      "name or remove it",
                      quoted, suggestion->name);
    else if (suggestion != NULL)
        finding_warning(found, "%s is not a setting of this program and is ignored; did you mean %s?", quoted,
                        suggestion->name);
    else
        finding_warning(found,
                        "%s is not a setting of this program and is ignored; haproxy-k8s-sync help settings lists all",
                        quoted);
}

void unknown_report(char *const *env, struct settings_findings *found)
{
    struct known k;
    k.count = 0;
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        for (int file = 0; file <= (row->or_file ? 1 : 0); file++) {
            struct known_name *n = &k.list[k.count++];
            snprintf(n->name, NAME_MAX_BYTES, "%s%s", row->name, file ? FILE_SUFFIX : "");
            n->row = row;
        }
    }
    bool aliases = aliases_count(env), traces = !str_empty(environment_get(env, "OTEL_EXPORTER_OTLP_ENDPOINT"));
    for (; *env != NULL; env++) {
        char name[NAME_MAX_BYTES];
        size_t len = strcspn(*env, "=");
        if ((*env)[len] == '\0' || len == 0 || len >= sizeof(name))
            continue;
        memcpy(name, *env, len);
        name[len] = '\0';
        if ((*env)[len + 1] != '\0' && removed_report(name, traces, found))
            continue;
        if (!unknown_is_setting(name, aliases) && !environment_is_service_link(name, *env + len + 1))
            unknown_report_one(&k, name, found);
    }
}
