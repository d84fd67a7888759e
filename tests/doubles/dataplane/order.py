"""The order in which the API writes the lines of a section, by keyword; of two words after `option` and `timeout`.

Complete enough for the sections that a test is likely to have. A keyword that is not here goes last, as one does that
the API does not know; the lines of a kind of section that is not here keep their order.
"""

from __future__ import annotations


def _keys(text: str) -> list[str]:
    """`option a b` on a line of its own stands for `option a`, `option b`; likewise timeout."""
    out: list[str] = []
    for line in text.strip().splitlines():
        first, *rest = line.split()
        out += [f"{first} {word}" for word in rest] if first in ("option", "timeout") and rest else [first, *rest]
    return out


BACKEND = _keys("""
    id description enabled disabled mode hash-type balance acl force-persist ignore-persist
    option httpclose http-buffer-request http-server-close http-keep-alive http-pretend-keepalive http-no-delay
    option forwardfor
    option ssl-hello-chk smtpchk ldap-check mysql-check abortonclose pgsql-check redis-check redispatch external-check
    option splice-auto splice-request splice-response log-health-checks
    log-tag
    option tcpka srvtcpka allbackups tcp-check checkcache independent-streams nolinger persist prefer-last-server
    option tcp-smart-connect transparent
    tcp-check
    option httpchk
    http-check external-check log email-alert
    timeout http-request queue http-keep-alive check tunnel server server-fin connect tarpit
    default-server stick filter compression tcp-request stats http-reuse http-request redirect cookie dynamic-cookie-key
    use-server stick-table errorfile server retries tcp-response http-response http-after-response http-error
    server-template load-server-state-from-file use-fcgi-app server-state-file-name fullconn max-keep-alive-queue
    retry-on
    source persist hash-balance-factor guid
""")
DEFAULTS = _keys("""
    enabled disabled mode monitor-uri hash-type balance maxconn backlog acl log
    option httplog
    email-alert stats log-tag log-format cookie dynamic-cookie-key
    option tcplog httpclose redispatch dontlognull log-separate-errors http-buffer-request http-server-close
    option http-keep-alive
    option http-pretend-keepalive http-no-delay tcpka clitcpka srvtcpka contstats ssl-hello-chk smtpchk ldap-check
    option mysql-check abortonclose pgsql-check redis-check splice-auto splice-request splice-response logasap
    option log-health-checks allbackups external-check forwardfor tcp-check checkcache independent-streams nolinger
    option persist
    option prefer-last-server socket-stats tcp-smart-accept tcp-smart-connect transparent dontlog-normal
    tcp-check
    option httpchk
    http-check external-check http-reuse
    timeout http-request check connect client client-fin queue server server-fin tunnel http-keep-alive tarpit
    retries compression default-server load-server-state-from-file errorfile default_backend fullconn
    max-keep-alive-queue
    retry-on source
""")
FRONTEND = _keys("""
    id description enabled disabled mode maxconn backlog bind acl monitor-uri monitor log-tag log-format log email-alert
    option httpclose http-buffer-request http-server-close http-keep-alive http-no-delay forwardfor tcplog dontlognull
    option contstats log-separate-errors tcpka clitcpka splice-auto splice-request splice-response logasap nolinger
    option socket-stats tcp-smart-accept dontlog-normal httplog
    timeout http-request client client-fin http-keep-alive tarpit
    filter compression tcp-request stats http-request redirect errorfile use_backend default_backend stick-table
    tcp-response http-response http-after-response http-error declare rate-limit guid
""")
GLOBAL = _keys("""
    set-var set-var-fmt setenv presetenv daemon chroot uid user gid group ca-base crt-base master-worker external-check nbthread cpu-map
    mode
    maxconn pidfile stats ssl-default-bind-options ssl-default-bind-ciphers ssl-default-bind-ciphersuites
    ssl-default-server-options ssl-default-server-ciphers ssl-default-server-ciphersuites ssl-dh-param-file
    ssl-server-verify hard-stop-after log server-state-file server-state-base spread-checks description
    insecure-fork-wanted node ulimit-n set-dumpable
""")
# Of these a section may have several lines; of the others above it keeps the last.
SEVERAL = set(_keys("""
    acl bind capture compression cpu-map declare default-server email-alert errorfile filter force-persist http-after-response
    http-check http-error http-request http-response ignore-persist log monitor presetenv redirect server server-template
    set-var set-var-fmt setenv stats stick tcp-check tcp-request tcp-response use-server use_backend
"""))
_RANKS = {kind: {key: i for i, key in enumerate(keys)} for kind, keys in
          {"backend": BACKEND, "defaults": DEFAULTS, "frontend": FRONTEND, "global": GLOBAL}.items()}
RANKED = set(_RANKS)
LAST = 10_000


def rank(kind: str, keyword: str) -> int:
    return _RANKS[kind].get(keyword, LAST) if kind in _RANKS else LAST
