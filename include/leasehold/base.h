// What all public headers of libleasehold share: what a call can return, and which version this is.
//
// Source: src/client/return.c. This header stands alone, in C99 and later and in C++.
#ifndef LEASEHOLD_BASE_H
#define LEASEHOLD_BASE_H

#ifdef __cplusplus
extern "C" {
#endif

// Everything with this mark is what the library exports; nothing else is.
#if defined(__GNUC__)
#define LH_API __attribute__((visibility("default")))
#else
#define LH_API
#endif

// What a call returns. Output parameters are untouched unless it is LH_OK.
//
//   LH_OK        done.
//   LH_MEMORY    an allocation failed. Nothing has changed; try again later, or give up.
//   LH_ARGUMENT  an argument can never be right: mend the caller.
//   LH_SYSTEM    a system call failed; errno has its number.
//   LH_STATE     not now: what was asked for does not go with what went before.
//   LH_STALE     fence: a greater token was seen. Do not act: the lease is somebody else's.
//                core: the message answers what an earlier life of this member asked. Drop it.
//   LH_DAMAGED   fence: the file holds something else than a fence. Nothing is admitted; look at it.
//   LH_FULL      core: a table, sized when it was made, has no room.
#define LH_RETURNS(X)                                                                              \
    X(OK, 0, "done")                                                                               \
    X(MEMORY, 1, "out of memory")                                                                  \
    X(ARGUMENT, 2, "an argument is wrong")                                                         \
    X(SYSTEM, 3, "a system call failed")                                                           \
    X(STATE, 4, "not possible in this state")                                                      \
    X(STALE, 5, "a greater fencing token was seen")                                                \
    X(DAMAGED, 6, "the fence file is damaged")                                                     \
    X(FULL, 7, "no room is left")

enum lh_return {
#define LH_RETURN_ENUM(name, number, text) LH_##name = (number),
    LH_RETURNS(LH_RETURN_ENUM)
#undef LH_RETURN_ENUM
};

// A few words about a return value; never NULL, never to be freed. Any thread.
LH_API const char *lh_return_text(enum lh_return value);

// The version of the library that is running, such as "0.1.0". Any thread.
LH_API const char *lh_library_version(void);

#ifdef __cplusplus
}
#endif

#endif
