/*
 * Less than the kernel would allow. A daemon that holds credentials of a load balancer and of a cluster, and that
 * reads what any peer sends, drops the rights that it does not need: an attacker inside it has little to go on.
 *
 * The filter of system calls (libseccomp) is an allowlist of what this daemon, libcurl, OpenSSL, libevent, and the
 * resolver and malloc of glibc use on Debian 12 and 13, amd64 and arm64. What it leaves:
 *
 *     files      opened for reading only; where the daemon has a STATE_DIR, written by its descriptor, and below that folder
 *                alone where the kernel has Landlock (sandbox_confine)
 *     sockets    unix, IPv4, IPv6 (streams and datagrams), and netlink's routes, which getaddrinfo asks
 *     memory     never both writable and executable, executable only from a file: getaddrinfo loads modules late
 *     processes  threads only (libcurl resolves names in them), no child, no signal but to itself; where the daemon renders
 *                templates copies of itself, which are waited for and killed (by SIGKILL, whose numbers a filter cannot know),
 *                and give up the rest of their rights themselves (sandbox_enter_strict)
 *
 * What is refused gets one of three answers:
 *
 *     the end    of the process, for what no library calls and an attacker wants most: another program, another
 *                process's memory, mounts, namespaces, kernel modules, keys, io_uring, ... An error would let them go
 *                on.
 *     ENOSYS     calls younger than Linux 5.1: a newer libc then does as on an older kernel. clone3, whose flags a
 *                filter cannot read, is among them.
 *     EPERM      all else: a call that a library makes and can do without must not take the daemon down.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * No core dump, not readable by other processes of the same user (memory and environ hold secrets), and no more rights
 * by whatever is executed. For every start, before the first secret is read. ERROR_FATAL.
 */
int sandbox_harden(struct error *err) must_check;

/*
 * Landlock: from now on this thread, and all that it starts, creates, changes and removes files only below that folder, by
 * whatever name or call (-1: nowhere). What is open stays open. After sandbox_harden, before sandbox_enter. -1: the kernel has
 * none, or a container does not let it be used; err says why, and all is as before.
 */
int sandbox_confine(int folder, struct error *err) must_check;

/*
 * Installs the filter, in all threads, for good. folder: the descriptor that files may be created, renamed and removed
 * by; -1: no file may be. copies: it may fork (host/child). Sockets that listen have to do so already. After it no program
 * can be run, so it does not go together with credentials by a plugin. ERROR_FATAL where the kernel takes no filter.
 */
int sandbox_enter(int folder, bool copies, struct error *err) must_check;

/*
 * For a copy of the daemon that computes something and writes the result to its standard output (host/child): memory, the
 * time, and nothing that leads out of it but what is open. What else it tries ends it. ERROR_FATAL.
 */
int sandbox_enter_strict(struct error *err) must_check;

/*
 * For the helper process beside the daemon, which runs `haproxy -c`: a filter is inherited by whatever is executed, so this
 * one is a list of what neither of them needs. Debuggers and other processes' memory, mounts and namespaces, the kernel's
 * own doors and keys are refused by EPERM, calls of another architecture end the process. ERROR_FATAL.
 */
int sandbox_enter_wide(struct error *err) must_check;

/*
 * What a copy of this process that computes something (child_options.run) may take of the machine, by the kernel's limits, and that it
 * ends with its parent. To be called in the child, before its filter. cpu_s: processor time; more_bytes: of memory besides what it has now,
 * 0: any. No dump, no other file than the three it has.
 */
void limits_set(uint64_t cpu_s, size_t more_bytes);
