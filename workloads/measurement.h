// Measurement: how a run waits, and how its times are told.

#pragma once

#include "dispatcher/metrics.h"
#include "workloads/latency.h"
#include "workloads/run_control.h"

namespace diptych::workloads {

// Sleeps for the time, or until stop is set; tells how far it is.
void wait_seconds(double seconds, const char* what, const StopFlag& stop, const Progress& progress);

Latency milliseconds(const dispatcher::Histogram& nanoseconds);

}  // namespace diptych::workloads
