// Fencing: the resource remembers the greatest token it has seen and refuses smaller ones. It is the
// only thing that stops a holder which was paused between lh_lease_valid and its act, or whose
// whole virtual machine was. docs/fencing.md has the same for SQL databases.
//
// Two fences: a word in the memory of the process that owns the resource, and a file that any
// number of processes on one machine share. What both need: the check and the act must be one
// step. Whoever is admitted and then waits before it acts can still be overtaken by a greater token.
// So act while the word's lock is held, or between lh_fence_enter and lh_fence_leave.
//
// Source: src/client/fence.c. Stands alone, C99 and C++.
#ifndef LEASEHOLD_FENCE_H
#define LEASEHOLD_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "leasehold/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- a word ---

// Admits `token` if it is not below the greatest one admitted before, and remembers it. `word`
// begins as 0 and is touched by nothing else; it lives as long as the resource. Tokens are positive:
// 0 and below are never admitted. Any thread; equal tokens are admitted again.
//
// True: act, if no greater token can be admitted before the act is done (one thread serves the
// resource, or a lock is held around both). False: refuse the caller, and tell it that it lost.
LH_API bool lh_fence_word_admit(int64_t *word, int64_t token);

// --- a file ---

// An open fence file. Owned by the caller, freed by lh_fence_close.
struct lh_fence;

// Opens the fence of a resource, making it (mode 0600, on disk with its directory) if there is
// none: so whoever removes the file lets every old token in. On a network file system flock may not
// exclude other machines: keep the fence where the resource is.
// Returns LH_OK, LH_MEMORY, LH_SYSTEM (errno), LH_DAMAGED.
LH_API enum lh_return lh_fence_open(const char *path, struct lh_fence **ret_fence);

// Leaves if need be, closes the file and frees. Accepts NULL.
LH_API void lh_fence_close(struct lh_fence *fence);

// Waits until nobody else is between enter and leave, then admits `token` as the word does. What is
// admitted is on disk before this returns, so that no crash lets a smaller one pass afterwards.
//
//   LH_OK        act, then leave.
//   LH_STALE     a greater token was admitted: do not act. Nothing to leave.
//   LH_ARGUMENT  the token is not positive. Nothing to leave.
//   LH_STATE     this fence has been entered and not left.
//   LH_SYSTEM    the file could not be locked, read or written (errno): do not act. Nothing to leave.
//   LH_DAMAGED   neither of the file's two records is whole: do not act. Nothing to leave; find out
//                what did that, then write the greatest token that can have been used with
//                lh_fence_repair.
//
// Blocks without a bound; the lease may end meanwhile: ask lh_lease_valid again if you need both.
// Threads: one at a time for each lh_fence; processes and other lh_fence objects exclude each other.
LH_API enum lh_return lh_fence_enter(struct lh_fence *fence, int64_t token);

// Done. Nothing if it was not entered. Ending the process leaves too.
LH_API void lh_fence_leave(struct lh_fence *fence);

// The greatest token admitted so far, 0 for none: for people. Returns LH_OK, LH_SYSTEM, LH_DAMAGED.
LH_API enum lh_return lh_fence_greatest(struct lh_fence *fence, int64_t *ret_token);

// Overwrites a damaged file so that it has admitted `token`, which must cover every token that can
// have been used before. A file that is not there is not made: open one and enter it under that
// token. Returns LH_OK, LH_ARGUMENT, LH_SYSTEM (errno), LH_STATE (the file is not damaged).
LH_API enum lh_return lh_fence_repair(const char *path, int64_t token);

#ifdef __cplusplus
}
#endif

#endif
