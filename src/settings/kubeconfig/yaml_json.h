/* A YAML tree as JSON text. Plain scalars by YAML 1.2's core schema: null, true, false, JSON's numbers, else text. */
#ifndef SETTINGS_KUBECONFIG_YAML_JSON_H
#define SETTINGS_KUBECONFIG_YAML_JSON_H

#include "base/buf.h"
#include "settings/kubeconfig/yaml_tree.h"

void yaml_json_add(const struct yaml_node *n, struct buf *out);

#endif
