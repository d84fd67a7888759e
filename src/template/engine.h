/*
 * The template engine: what src/template/src/ (Rust: minijinja, and a shim around it) offers to C and needs of it. Jinja's
 * syntax and semantics: jinja.palletsprojects.com/templates; what differs stands in docs/templates.md.
 *
 * All of it runs in a child process (template/render): memory that is over its limit, a panic, a template without an end
 * are ends of that process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct yyjson_val;
struct objects;
struct storage_known;

#define ENGINE_MEMORY_STATUS 71 /* the child's exit status where memory_bytes do not suffice */

/* Borrowed UTF-8; no NUL has to follow. The structs below are those of src/abi.rs, member for member. */
struct engine_text {
    const char *bytes;
    size_t len;
};

enum engine_kind {
    ENGINE_NULL,
    ENGINE_BOOL,
    ENGINE_UINT,
    ENGINE_INT,
    ENGINE_REAL,
    ENGINE_STRING,
    ENGINE_ARRAY,
    ENGINE_OBJECT
};

struct engine_scalar {
    int kind;
    bool truth;
    uint64_t number; /* an int64_t's bits, too */
    double real;
    struct engine_text text;
    size_t size; /* of an array or an object */
};

/* A template that others may include. */
struct engine_source {
    struct engine_text name, text;
    int64_t priority; /* among those that snippets("glob") finds: the least first, then by name */
};

/* A value that has to be set before a template asks for it. */
struct engine_unset {
    const struct yyjson_val *value; /* NULL: there is none */
    struct engine_text text;        /* the error where it is asked for */
};

struct engine_variable {
    struct engine_text name;
    const struct yyjson_val *value;
};

enum engine_output_kind { ENGINE_HAPROXY_CFG, ENGINE_MAP, ENGINE_CERTIFICATE, ENGINE_FILE };

struct engine_output {
    int kind;
    struct engine_text name;
    struct engine_text source; /* the name of its template */
};

enum engine_record_kind { ENGINE_OUTPUT, ENGINE_WARNING, ENGINE_EVENT, ENGINE_ERROR, ENGINE_OWNERS, ENGINE_PLACED };

struct engine_record {
    int what;
    int kind;                /* OUTPUT: enum engine_output_kind */
    struct engine_text name; /* OUTPUT: its own; ERROR: the template's, "" where there is none */
    struct engine_text text; /* what was rendered, or what is said; OWNERS: as those of the job, once at most */
    struct engine_text source_line;
    uint64_t line, column; /* ERROR, from 1; 0: not known */
    /* WARNING (it is to be left out), EVENT: of which object; ERROR: the one that the template had last, or NULL */
    const struct yyjson_val *object;
};

struct engine_job {
    bool lenient;        /* what is undefined is nothing; else an error */
    bool keep_newline;   /* the last one of a template; else it is cut, as Jinja does */
    bool trim_blocks;    /* a line of a block alone leaves nothing */
    bool ends;           /* the process does so soon: memory is not given back */
    uint64_t fuel;       /* instructions, about; 0: any number */
    size_t memory_bytes; /* that the engine itself allocates */
    const struct engine_source *sources;
    size_t source_count;
    const struct engine_variable *variables;
    size_t variable_count;
    const struct engine_output *outputs;
    size_t output_count;
    struct engine_text folders[3]; /* of maps, certificates and other files, each with a slash at its end: path() */
    struct objects *objects;       /* `resources`; NULL: none */
    struct storage_known *known;   /* certificates that need no other check; NULL: none are */
    struct engine_text owners;     /* "HOST NAMESPACE[ held]\n" for each host that the render before left to one */
    struct engine_text before;     /* the haproxy.cfg that was given last: who has a place in it keeps that (slots) */
    struct engine_unset unset;
    void *arg;
    void (*emit)(void *arg, const struct engine_record *record);
};

/* 0, or -1 after an ENGINE_ERROR. */
int engine_run_job(const struct engine_job *job);

/* "" where this build has the engine; else what to build it with. */
const char *engine_unavailable(void);

/* What the engine asks for: template/engine_values.c, objects_list of template/objects, and free. */
void engine_node_read(const struct yyjson_val *node, struct engine_scalar *ret);
const struct yyjson_val *engine_node_get(const struct yyjson_val *object, const char *key, size_t len);
const struct yyjson_val *engine_node_at(const struct yyjson_val *array, size_t index);
const struct yyjson_val *engine_node_first(const struct yyjson_val *container);
const struct yyjson_val *engine_node_next(const struct yyjson_val *element, bool is_key);
bool engine_resource_name(const struct objects *all, size_t resource, struct engine_text *ret);
size_t engine_resource_fetch(struct objects *all, size_t resource, const struct engine_text *keys, size_t count,
                             const struct yyjson_val *const **ret);
size_t engine_resource_keys(const struct objects *all, size_t resource);
void *engine_base64_decode(struct engine_text text, size_t *ret_len);
char *engine_stored_name(int kind, struct engine_text name); /* 0: a map, 1: a certificate, 2: another file */
/* NULL: it can be stored, and *ret_place is the kind whose folder it is put into. */
char *engine_file_problem(struct storage_known *known, int kind, struct engine_text name, struct engine_text bytes,
                          int *ret_place);
bool engine_protects(struct engine_text name, struct engine_text value); /* model/protection.h */
/* Memory to cut from, as long as the process lives, whose pages cost nothing before they are written to. NULL: there is none. */
void *engine_piece(size_t bytes);
/* What may read files, as OpenSSL does its settings: before a filter of system calls keeps it from that. */
void engine_prepare(void);
