/*
 * Whether a file can be written without `haproxy -c`: it differs from the one that HAProxy runs by servers alone that come
 * or go (haproxy/cfg/difference: CFG_EFFECT_RUNTIME_SERVERS), each that comes has the words of one that is there, and none
 * that goes is named elsewhere. Of who comes HAProxy
 * has said all that the check could say, once it took it by a command; of who goes there is nothing to be said. Pure.
 */
#pragma once

#include "base/compiler.h"
#include "haproxy/cfg/file.h"
#include "haproxy/change.h"

#define LOCAL_ALIKE_MAX_CHANGES 32

/* changes: all that differs. Both files are all that HAProxy reads. false: or it is not certain. */
bool local_alike(const struct cfg_file *from, const struct cfg_file *to, const struct changes *changes) must_check;
