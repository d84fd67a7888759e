/* Unit tests without a list of them: each test says what it is, main.c runs all of a program in the order in which they are defined.
 *
 *     FIXTURE(setup, teardown)          around each test that follows, until the next FIXTURE; either may be NULL
 *     TEST(name) { ... }
 *     TEST_EACH(name, array_len(rows)) { ... rows[_i] ... }
 *     FORKED                            each test of the program has its own process
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What nearly every test uses. */
#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

/* A callback of a test takes what it is called with, whether it needs that or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Check would write to a file at each assertion that holds, where a test was when it died: the sanitizers say that, too. */
#define _mark_point(file, line) ((void)0)

/* What the calls of a test said went wrong; nothing when it begins. */
extern struct error flaw;

void test_add(const TTest *test, int from, int to);
void test_fixture(void (*setup)(void), void (*teardown)(void));
void test_fork(void);

#define TEST(name) TEST_RANGE(name, 0, 1)
#define TEST_EACH(name, count) TEST_RANGE(name, 0, count)
/* _i is from the first to before the second. */
#define TEST_RANGE(name, from, to)                                   \
    static void name(int _i);                                        \
    __attribute__((constructor)) static void name##_add(void)        \
    {                                                                \
        static const TTest test = {#name, name, __FILE__, __LINE__}; \
        test_add(&test, (int)(from), (int)(to));                     \
    }                                                                \
    static void name(int _i CK_ATTRIBUTE_UNUSED)

#define FIXTURE(setup, teardown) FIXTURE_OF_LINE(setup, teardown, __LINE__)
#define FIXTURE_OF_LINE(setup, teardown, line) FIXTURE_NAMED(setup, teardown, line)
#define FIXTURE_NAMED(setup, teardown, line)                      \
    __attribute__((constructor)) static void fixture_##line(void) \
    {                                                             \
        test_fixture(setup, teardown);                            \
    }

#define FORKED                                            \
    __attribute__((constructor)) static void forked(void) \
    {                                                     \
        test_fork();                                      \
    }
