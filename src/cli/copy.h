/*
 * This program, its loader and its libraries, copied into a folder: there it runs on a file system that has neither, such as
 * that of HAProxy's image, whose `haproxy -c` it needs beside it:
 *
 *   FOLDER/ld.so --library-path FOLDER FOLDER/haproxy-k8s-sync
 */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "base/compiler.h"
#include "base/error.h"

/* The folder has to be there; files of these names are replaced. */
int copy_to(const char *folder, struct error *err) must_check;

#endif
