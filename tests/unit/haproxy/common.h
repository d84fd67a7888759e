/* What nearly every test of this room uses. */
#ifndef TESTS_HAPROXY_COMMON_H
#define TESTS_HAPROXY_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"

#endif
