/* A YAML tree as JSON text. Plain scalars are what YAML 1.2's core schema makes of them: null, true, false, JSON's numbers, else text. */
#ifndef CONFIG_YAML_JSON_H
#define CONFIG_YAML_JSON_H

#include "base/buf.h"
#include "config/yaml_tree.h"

void yaml_json_add(const struct yaml_node *n, struct buf *out);

#endif
