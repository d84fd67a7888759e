/* Attributes that the whole tree uses; nothing else lives here. */
#pragma once

#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, first) __attribute__((format(printf, fmt, first)))
#define cleanup(fn) __attribute__((cleanup(fn)))

#define array_len(a) (sizeof(a) / sizeof((a)[0]))
