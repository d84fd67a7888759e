/* An informer's sink for the EndpointSlices of all Services (model/service_slices). */
#ifndef DAEMON_SERVICES_SLICES_SINK_H
#define DAEMON_SERVICES_SLICES_SINK_H

#include "base/compiler.h"
#include "kube/informer.h"

struct service_slices;

struct informer_sink slices_sink(struct service_slices *to) must_check; /* borrowed */

#endif
