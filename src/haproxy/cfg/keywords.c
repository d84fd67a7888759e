#include "haproxy/cfg/keywords.h"

#include <stdlib.h>
#include <string.h>

/* In the order of strcmp, for bsearch. */
static const struct cfg_keyword keywords[] = {
    {"addr", "health_check_address", RAWCFG_TEXT},
    {"agent-addr", "agent-addr", RAWCFG_TEXT},
    {"agent-check", "agent-check", RAWCFG_ON},
    {"agent-inter", "agent-inter", RAWCFG_TIME},
    {"agent-port", "agent-port", RAWCFG_NUMBER_NOT_0},
    {"agent-send", "agent-send", RAWCFG_TEXT},
    {"allow-0rtt", "allow_0rtt", RAWCFG_TRUE},
    {"alpn", "alpn", RAWCFG_TEXT},
    {"backup", "backup", RAWCFG_ON},
    {"ca-file", "ssl_cafile", RAWCFG_TEXT},
    {"cc", "cc", RAWCFG_TEXT},
    {"check", "check", RAWCFG_ON},
    {"check-alpn", "check_alpn", RAWCFG_TEXT},
    {"check-pool-conn-name", "check-pool-conn-name", RAWCFG_TEXT},
    {"check-proto", "check_proto", RAWCFG_TEXT},
    {"check-reuse-pool", "check-reuse-pool", RAWCFG_ON},
    {"check-send-proxy", "check-send-proxy", RAWCFG_ON},
    {"check-sni", "check-sni", RAWCFG_TEXT},
    {"check-sni-auto", "check_sni_auto", RAWCFG_ON},
    {"check-ssl", "check-ssl", RAWCFG_ON},
    {"check-via-socks4", "check_via_socks4", RAWCFG_ON},
    {"ciphers", "ciphers", RAWCFG_TEXT},
    {"ciphersuites", "ciphersuites", RAWCFG_TEXT},
    {"client-sigalgs", "client_sigalgs", RAWCFG_TEXT},
    {"cookie", "cookie", RAWCFG_TEXT},
    {"crl-file", "crl_file", RAWCFG_TEXT},
    {"crt", "ssl_certificate", RAWCFG_TEXT},
    {"curves", "curves", RAWCFG_TEXT},
    {"disabled", "maintenance", RAWCFG_ON},
    {"downinter", "downinter", RAWCFG_TIME},
    {"enabled", "maintenance", RAWCFG_OFF},
    {"error-limit", "error_limit", RAWCFG_NUMBER_NOT_0},
    {"fall", "fall", RAWCFG_NUMBER},
    {"fastinter", "fastinter", RAWCFG_TIME},
    {"force-sslv3", "force_sslv3", RAWCFG_ON},
    {"force-tlsv10", "force_tlsv10", RAWCFG_ON},
    {"force-tlsv11", "force_tlsv11", RAWCFG_ON},
    {"force-tlsv12", "force_tlsv12", RAWCFG_ON},
    {"force-tlsv13", "force_tlsv13", RAWCFG_ON},
    {"guid", "guid", RAWCFG_TEXT},
    {"hash-key", "hash_key", RAWCFG_TEXT},
    {"id", "id", RAWCFG_NUMBER},
    {"idle-ping", "idle_ping", RAWCFG_TIME},
    {"init-addr", "init-addr", RAWCFG_TEXT},
    {"init-state", "init-state", RAWCFG_TEXT},
    {"inter", "inter", RAWCFG_TIME},
    {"interface", "source", RAWCFG_SOURCE},
    {"ktls", "ktls", RAWCFG_TEXT},
    {"log-bufsize", "log-bufsize", RAWCFG_NUMBER},
    {"log-proto", "log_proto", RAWCFG_TEXT},
    {"max-reuse", "max_reuse", RAWCFG_NUMBER},
    {"maxconn", "maxconn", RAWCFG_NUMBER},
    {"maxqueue", "maxqueue", RAWCFG_NUMBER},
    {"minconn", "minconn", RAWCFG_NUMBER},
    {"namespace", "namespace", RAWCFG_TEXT},
    {"no-agent-check", "agent-check", RAWCFG_OFF},
    {"no-backup", "backup", RAWCFG_OFF},
    {"no-check", "check", RAWCFG_OFF},
    {"no-check-reuse-pool", "check-reuse-pool", RAWCFG_OFF},
    {"no-check-send-proxy", "check-send-proxy", RAWCFG_OFF},
    {"no-check-sni-auto", "check_sni_auto", RAWCFG_OFF},
    {"no-check-ssl", "check-ssl", RAWCFG_OFF},
    {"no-renegotiate", "renegotiate", RAWCFG_OFF},
    {"no-send-proxy", "send-proxy", RAWCFG_OFF},
    {"no-send-proxy-v2", "send-proxy-v2", RAWCFG_OFF},
    {"no-send-proxy-v2-ssl", "send_proxy_v2_ssl", RAWCFG_OFF},
    {"no-send-proxy-v2-ssl-cn", "send_proxy_v2_ssl_cn", RAWCFG_OFF},
    {"no-sni-auto", "sni_auto", RAWCFG_OFF},
    {"no-ssl", "ssl", RAWCFG_OFF},
    {"no-ssl-reuse", "ssl_reuse", RAWCFG_OFF},
    {"no-sslv3", "no_sslv3", RAWCFG_ON},
    {"no-tfo", "tfo", RAWCFG_OFF},
    {"no-tls-tickets", "tls_tickets", RAWCFG_OFF},
    {"no-tlsv10", "force_tlsv10", RAWCFG_OFF},
    {"no-tlsv11", "force_tlsv11", RAWCFG_OFF},
    {"no-tlsv12", "force_tlsv12", RAWCFG_OFF},
    {"no-tlsv13", "force_tlsv13", RAWCFG_OFF},
    {"no-verifyhost", "no_verifyhost", RAWCFG_ON},
    {"non-stick", "stick", RAWCFG_OFF},
    {"npn", "npn", RAWCFG_TEXT},
    {"observe", "observe", RAWCFG_TEXT},
    {"on-error", "on-error", RAWCFG_TEXT},
    {"on-marked-down", "on-marked-down", RAWCFG_TEXT},
    {"on-marked-up", "on-marked-up", RAWCFG_TEXT},
    {"pool-conn-name", "pool_conn_name", RAWCFG_TEXT},
    {"pool-low-conn", "pool_low_conn", RAWCFG_NUMBER},
    {"pool-max-conn", "pool_max_conn", RAWCFG_NUMBER},
    {"pool-purge-delay", "pool_purge_delay", RAWCFG_TIME},
    {"port", "health_check_port", RAWCFG_NUMBER},
    {"proto", "proto", RAWCFG_TEXT},
    {"proxy-v2-options", "proxy-v2-options", RAWCFG_LIST},
    {"quic-cc-algo", "quic-cc-algo", RAWCFG_CALL},
    {"redir", "redir", RAWCFG_TEXT},
    {"renegotiate", "renegotiate", RAWCFG_ON},
    {"resolve-net", "resolve-net", RAWCFG_TEXT},
    {"resolve-opts", "resolve_opts", RAWCFG_TEXT},
    {"resolve-prefer", "resolve-prefer", RAWCFG_TEXT},
    {"resolvers", "resolvers", RAWCFG_TEXT},
    {"rise", "rise", RAWCFG_NUMBER},
    {"send-proxy", "send-proxy", RAWCFG_ON},
    {"send-proxy-v2", "send-proxy-v2", RAWCFG_ON},
    {"send-proxy-v2-ssl", "send_proxy_v2_ssl", RAWCFG_ON},
    {"send-proxy-v2-ssl-cn", "send_proxy_v2_ssl_cn", RAWCFG_ON},
    {"set-proxy-v2-tlv-fmt", "set-proxy-v2-tlv-fmt", RAWCFG_TLV},
    {"shard", "shard", RAWCFG_NUMBER_NOT_0},
    {"sigalgs", "sigalgs", RAWCFG_TEXT},
    {"slowstart", "slowstart", RAWCFG_TIME},
    {"sni", "sni", RAWCFG_TEXT},
    {"sni-auto", "sni_auto", RAWCFG_ON},
    {"socks4", "socks4", RAWCFG_TEXT},
    {"source", "source", RAWCFG_SOURCE},
    {"ssl", "ssl", RAWCFG_ON},
    {"ssl-max-ver", "ssl_max_ver", RAWCFG_TEXT},
    {"ssl-min-ver", "ssl_min_ver", RAWCFG_TEXT},
    {"ssl-reuse", "ssl_reuse", RAWCFG_ON},
    {"stick", "stick", RAWCFG_ON},
    {"strict-maxconn", "strict-maxconn", RAWCFG_TRUE},
    {"tcp-md5sig", "tcp_md5sig", RAWCFG_TEXT},
    {"tcp-ut", "tcp_ut", RAWCFG_TIME},
    {"tfo", "tfo", RAWCFG_ON},
    {"tls-tickets", "tls_tickets", RAWCFG_ON},
    {"track", "track", RAWCFG_TEXT},
    {"usesrc", "source", RAWCFG_SOURCE},
    {"verify", "verify", RAWCFG_TEXT},
    {"verifyhost", "verifyhost", RAWCFG_TEXT},
    {"weight", "weight", RAWCFG_NUMBER},
    {"ws", "ws", RAWCFG_TEXT},
};

/* By the name alone: set-proxy-v2-tlv-fmt(0x20) is set-proxy-v2-tlv-fmt. */
static int keyword_order(const void *word, const void *entry)
{
    const struct cfg_keyword *k = entry;
    const char *w = word;
    size_t len = k->form == RAWCFG_TLV ? strcspn(w, "(") : strlen(w);
    int n = strncmp(w, k->name, len);
    return n != 0 ? n : -(k->name[len] != '\0');
}

bool cfg_keyword_takes_argument(const struct cfg_keyword *k)
{
    return k->form != RAWCFG_ON && k->form != RAWCFG_OFF && k->form != RAWCFG_TRUE;
}

const struct cfg_keyword *cfg_keyword_find(const char *word)
{
    return bsearch(word, keywords, sizeof(keywords) / sizeof(keywords[0]), sizeof(keywords[0]), keyword_order);
}

const struct cfg_keyword *cfg_keyword_of_field(const char *key, bool off)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (strcmp(keywords[i].key, key) == 0 && (keywords[i].form == RAWCFG_OFF) == off)
            return &keywords[i];
    return NULL;
}
