/* What strangers answer to `doctor`: about ourselves, about themselves, at a node's port, and on this machine. */
#include <stddef.h>

#include "haproxy/dataplane/about.h"
#include "kube/discovery.h"
#include "net/proxy_probe.h"
#include "base/mem.h"
#include "cli/doctor/doctor_connection.h"
#include "cli/doctor/doctor_local.h"
#include "fuzz.h"

static void read_reviews(const char *json, size_t size)
{
    struct access_review review = {0};
    struct error err = {0};
    char *user = NULL;
    if (access_review_decode(json, size, &review, &err) == 0)
        access_review_fini(&review);
    if (self_review_decode(json, size, &user, &err) == 0)
        free(user);
}

static void read_about(const char *json, size_t size)
{
    struct about_haproxy haproxy;
    struct about_global global;
    struct error err = {0};
    char *version = NULL;
    if (about_read_api(json, size, &version, &err) == 0)
        free(version);
    if (about_read_haproxy(json, size, &haproxy, &err) == 0)
        about_haproxy_fini(&haproxy);
    if (about_read_global(json, size, &global, &err) == 0 && global.admin_socket && global.sockets == 0)
        abort();
}

/* More bytes never make an answer undecided again. */
static void read_port(const uint8_t *data, size_t size)
{
    for (int talk = 0; talk < PROXY_TALKS; talk++) {
        enum proxy_reply reply;
        bool known = false;
        for (size_t len = 0; len <= size && len <= PROXY_TALK_MAX_BYTES; len++) {
            bool now = proxy_talk_read((enum proxy_talk)talk, data, len, &reply);
            if (known && !now)
                abort();
            known = now;
        }
        if (!known && size >= PROXY_TALK_MAX_BYTES)
            abort(); /* what is read at most has to be enough */
    }
}

/* The text as haproxy.cfg, and as what a program calls itself. */
static void read_machine(const char *text, size_t size)
{
    cleanup(local_facts_fini) struct local_facts f = {0};
    struct local_version version;
    local_global_read(text, size, &f.global);
    if (local_version_read(text, &version) && version.text[0] == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)data[i];
    text[size] = '\0';
    read_reviews(text, size);
    read_about(text, size);
    read_machine(text, size);
    read_port(data, size);
    struct doctor_skew skew = doctor_skew_of(text, 1795305707000, 1000);
    if (skew.known && skew.least_ms > skew.most_ms)
        abort();
    free(text);
    return 0;
}
