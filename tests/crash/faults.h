#pragma once

// System calls that fail on demand: a shared library that overrides the C library, linked or by LD_PRELOAD.
//
// It counts the calls that change files below one folder (and those that open files there) and makes one of them go
// wrong. Kinds:
//   kill     the process is killed (SIGKILL) before the call
//   torn     a write is cut in half, any other call completes, and then the process is killed
//   ENOSPC   the call fails as on a full disk, a write after half of its bytes; the next call works again
//   full     as ENOSPC, and the disk stays full: everything that needs space fails from then on
//   EIO      the call fails as on a broken disk, a write after half of its bytes
//
// With LD_PRELOAD the environment arms it: SEGRE_FAULT_UNDER (the folder), SEGRE_FAULT_AT (the number of the call,
// from 1; 0: only count), SEGRE_FAULT_KIND, and SEGRE_FAULT_LOG, a file that gets a line per counted call.

extern "C" {

/// Starts counting from 0 again. `log` may be null.
void segre_arm_faults(const char* under, long at, const char* kind, const char* log);
/// Calls counted so far.
long segre_counted_calls();
}
