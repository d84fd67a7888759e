/* What the daemon and its helper send each other, and what HAProxy answers on its sockets. The first byte says which. */
#include "base/mem.h"
#include "haproxy/local/cli.h"
#include "haproxy/local/cli_files.h"
#include "haproxy/local/message.h"
#include "haproxy/map_text.h"
#include "net/pem.h"
#include "fuzz.h"

/* What was read is written as it was. */
static void look_at_ask(const char *bytes, size_t len)
{
    struct local_ask a;
    struct buf out = {0};
    if (local_message_get_ask(bytes, len, &a) != 0)
        return;
    check(a.bytes[a.len] == '\0' && a.kind <= LOCAL_KIND_RELEASE_CONFIG);
    check(!local_message_name_fits(a.name) || strchr(a.name, '/') == NULL);
    check(local_message_put_ask(&out, &a) == 0);
    check(out.len == len + LOCAL_FRAME_HEAD_BYTES && memcmp(out.data + LOCAL_FRAME_HEAD_BYTES, bytes, len) == 0);
    buf_fini(&out);
}

static void look_at_answer(const char *bytes, size_t len)
{
    struct local_answer a = {0};
    struct buf out = {0};
    if (local_message_get_answer(bytes, len, &a) != 0)
        return;
    check(a.data[a.len] == '\0' && a.status <= LOCAL_FAILED);
    check(local_message_put_answer(&out, &a) == 0);
    check(out.len == len + LOCAL_FRAME_HEAD_BYTES && memcmp(out.data + LOCAL_FRAME_HEAD_BYTES, bytes, len) == 0);
    buf_fini(&out);
}

/* What is read of a map is read again as it was. */
static void look_at_map(const struct map_entries *m)
{
    struct map_entries again = {0};
    struct buf text = {0};
    for (size_t i = 0; i < m->count; i++)
        buf_printf(&text, " %.*s %.*s\n", (int)m->list[i].key_len, m->list[i].key, (int)m->list[i].value_len,
                   m->list[i].value);
    map_entries_read(&again, buf_str(&text));
    check(map_entries_same(m, &again));
    map_entries_fini(&again);
    buf_fini(&text);
}

static void look_at_files(const char *text)
{
    struct map_entries file = {0}, shown = {0};
    struct pem_identity certificate;
    struct error err = {0};
    unsigned version;
    for (int i = 0; i < CLI_LISTS; i++) {
        struct cli_names names;
        int status = cli_names_init(&names, (enum cli_list)i, text, &err);
        check(status == 0 || err.kind != ERROR_NONE);
        for (size_t k = 0; k < names.count; k++)
            check(names.list[k][0] != '\0' && strchr(names.list[k], '\n') == NULL);
        cli_names_fini(&names);
    }
    map_entries_read(&file, text);
    look_at_map(&file);
    map_entries_fini(&file);
    if (cli_read_map(text, &shown, &err) == 0)
        for (size_t i = 0; i < shown.count; i++)
            check(shown.list[i].key_len > 0 && shown.list[i].value_len <= strlen(text));
    map_entries_fini(&shown);
    if (cli_read_version(text, &version, &err) != 0)
        check(err.kind != ERROR_NONE);
    if (cli_read_certificate(text, &certificate, &err) == 0)
        check(certificate.certificates > 0 && strlen(certificate.sha1) < sizeof(certificate.sha1));
    if (cli_read_certificate_set(text, &err) != 0 || cli_read_certificate_committed(text, &err) != 0)
        check(err.kind != ERROR_NONE);
}

static void look_at_text(const char *text)
{
    struct cli_servers servers;
    struct cli_processes processes;
    struct error err = {0};
    const char *log;
    if (cli_servers_init(&servers, text, &err) == 0)
        for (size_t i = 0; i < servers.count; i++)
            check(strlen(servers.servers[i].name) > 0 && servers.servers[i].port <= 65535);
    cli_servers_fini(&servers);
    if (cli_processes_init(&processes, text, &err) == 0)
        check(processes.master_pid > 0 && processes.count > 0);
    cli_processes_fini(&processes);
    struct cli_info info;
    check(cli_info_read(&info, text, &err) != 0 || info.pid > 0);
    (void)cli_read_reload(text, &log);
    check(strlen(log) <= strlen(text));
    check(cli_read_done(text, &err) == 0 || err.kind != ERROR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *bytes = mem_alloc(size - 1 > 0 ? size - 1 : 1);
    char *text = mem_strndup((const char *)data + 1, size - 1);
    if (size > 1)
        memcpy(bytes, data + 1, size - 1);
    if (data[0] == 'q')
        look_at_ask(bytes, size - 1);
    else if (data[0] == 'a')
        look_at_answer(bytes, size - 1);
    else if (data[0] == 'f')
        look_at_files(text);
    else
        look_at_text(text);
    free(bytes);
    free(text);
    return 0;
}
