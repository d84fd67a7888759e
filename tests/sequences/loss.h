/*
 * The rule of the loss limit, as a simple model: of the servers of one backend of one HAProxy that are lost without a word, those that
 * leave before their own time (RESYNC_PERIOD after the loss was reported) and were reported within one such period are never
 * more than MAX_LOSS_PERCENT of those that were live when the oldest loss of that period was reported.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct world;
struct want;
struct api;

void loss_open(struct world *w);
void loss_close(struct world *w);
void loss_forget(struct world *w);                   /* the daemon starts anew */
void loss_reported(struct world *w, size_t backend); /* the daemon gets world.desired states[backend] */
void loss_look(struct api *a);                       /* after everything that happens */
void loss_left(struct api *a, size_t backend, const struct want *want, unsigned decided,
               const char *by); /* by a write of the daemon's */
