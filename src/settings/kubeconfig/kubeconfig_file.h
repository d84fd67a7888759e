/*
 * The files that KUBECONFIG lists, read as they are, and their entries found by the rule that the first file wins.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "json/yaml_tree.h"

#define KUBECONFIG_MAX_FILES 32u
#define KUBECONFIG_MAX_BYTES (1024u * 1024u)

struct kube_exec;

struct kubeconfig_file {
    char *path;
    struct yaml_tree tree;
};

struct kubeconfig_files {
    struct kubeconfig_file files[KUBECONFIG_MAX_FILES];
    size_t count;
};

/* Missing files are skipped, as long as there is one. ERROR_FATAL naming file and line. */
int kubeconfig_files_load(const char *list, struct kubeconfig_files *ret, struct error *err) must_check;
void kubeconfig_files_fini(struct kubeconfig_files *k); /* wipes */

/* One object: the "cluster" of an element of "clusters", and so on. Borrowed from the files. */
struct kubeconfig_object {
    const struct kubeconfig_file *file; /* NULL: there is none of that name */
    const char *list, *inner;           /* "clusters", "cluster" */
    const char *name;
    size_t line;
    const struct yaml_node *node; /* NULL: it has no fields */
};

/* The first file that has an element of that name in `list`. */
int kubeconfig_find(const struct kubeconfig_files *k, const char *list, const char *inner, const char *name,
                    struct kubeconfig_object *ret, struct error *err) must_check;

/* current-context of the first file that sets one; *ret_name NULL where none does. *ret_line and *ret_file: where. */
int kubeconfig_current_context(const struct kubeconfig_files *k, const char **ret_name, const char **ret_file,
                               size_t *ret_line, struct error *err) must_check;

/* The names in `list` over all files, for messages: "a", "b"; NULL: there is none. Allocates. */
char *kubeconfig_names(const struct kubeconfig_files *k, const char *list) must_check;

/* A field of an object, by key. Absent, null and "" leave *ret as it is. */
int kubeconfig_text(const struct kubeconfig_object *o, const char *key, const char **ret, struct error *err) must_check;
int kubeconfig_bool(const struct kubeconfig_object *o, const char *key, bool *ret, struct error *err) must_check;
/* As kubeconfig_text, refusing what would break a header, a path or a log line: control characters. */
int kubeconfig_line(const struct kubeconfig_object *o, const char *key, const char **ret, struct error *err) must_check;
bool kubeconfig_has(const struct kubeconfig_object *o, const char *key); /* there, and not null */

/* Paths in a kubeconfig are relative to it, not to the working directory. Allocates. */
char *kubeconfig_path(const struct kubeconfig_object *o, const char *path) must_check;

/* "kubeconfig FILE:LINE: users["x"].user.token: ..."; -1. */
int kubeconfig_fail(const struct kubeconfig_object *o, const char *key, struct error *err, const char *fmt, ...)
    printf_like(4, 5);

/* *ret NULL where user has no exec. cluster: its extension "client.authentication.k8s.io/exec" goes to the program,
 * where it asks for the cluster. ERROR_FATAL. */
int kubeconfig_exec(const struct kubeconfig_object *user, const struct kubeconfig_object *cluster,
                    struct kube_exec **ret, struct error *err) must_check;
