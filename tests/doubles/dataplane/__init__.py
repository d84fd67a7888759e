"""A double of HAProxy's Data Plane API v3 over a real haproxy.cfg, the real `haproxy -c` and a real HAProxy to reload.

cfgfile, words      haproxy.cfg <-> sections and lines, the header with version and checksum
order, reading      what any write, and already reading, does to lines that nobody touches
servers, backends   one line or section <-> the JSON of the API
schema              what a request body must look like
haproxy, reloaders  `haproxy -c`; the ways to make a running HAProxy reload
transactions        begin, commit, delete, kept on disk
reloads             the ticker, ids, the fate of each reload, the last good file
storage             maps, certificates and other files beside the configuration
runtime             the stats socket
runtime_update      the one write that needs no reload
service             one configuration with all of the above
routes, handlers_*  the HTTP surface; web and errors are their plain values, auth the 401s
httpd               HTTP/1.1 over TCP, TLS or a unix socket
faults, control     misbehaviour on demand
"""
