/* Time. Monotonic for every decision, wall clock only for people and timestamps. Machines get `now` handed in. */
#pragma once

#include <stdint.h>

uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);
uint64_t clock_boot_ms(void); /* monotonic, and goes on while the machine sleeps */
uint64_t clock_wall_ms(void); /* since the Unix epoch */
uint64_t clock_cpu_us(void);  /* what this thread has used of the processor */
