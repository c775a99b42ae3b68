// Assertions stay on in release: what they guard is exclusion, and going on after a broken
// invariant is worse than stopping. They are for our own mistakes only. Bytes from a peer, a client
// or a disk must never reach one: those are decoded, checked, dropped and counted.
//
// The pure layers leave lh_assert_failed undefined; each program defines it once
// (os/assert_abort.c prints and aborts), which is the only call out of a pure archive besides
// mem* and str*.
#ifndef LH_BASE_ASSERT_H
#define LH_BASE_ASSERT_H

// Reports a failed assertion and does not return. `left` and `right` are the operands of a
// comparison; a plain condition reports 0 and 1: what it was, and what it should have been.
_Noreturn void lh_assert_failed(const char *file, int line, const char *expression, long long left,
                                long long right);

#define LH_ASSERT(condition)                                                                       \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            lh_assert_failed(__FILE__, __LINE__, #condition, 0, 1);                                \
    } while (0)

// For a branch that no value of ours can reach, such as the default of a switch over an enum.
#define LH_UNREACHABLE(why) lh_assert_failed(__FILE__, __LINE__, "unreachable: " why, 0, 1)

// Comparisons of integers. Each operand is evaluated once and must fit in 63 bits and a sign,
// except under EQ and NE, which compare any 64-bit values.
#define LH_ASSERT_EQ(left, right) LH_ASSERT_COMPARE(left, ==, right)
#define LH_ASSERT_NE(left, right) LH_ASSERT_COMPARE(left, !=, right)
#define LH_ASSERT_LT(left, right) LH_ASSERT_COMPARE(left, <, right)
#define LH_ASSERT_LE(left, right) LH_ASSERT_COMPARE(left, <=, right)
#define LH_ASSERT_GT(left, right) LH_ASSERT_COMPARE(left, >, right)
#define LH_ASSERT_GE(left, right) LH_ASSERT_COMPARE(left, >=, right)

#define LH_ASSERT_COMPARE(left, operation, right)                                                  \
    do {                                                                                           \
        const long long lh_assert_left = (long long)(left);                                        \
        const long long lh_assert_right = (long long)(right);                                      \
        if (__builtin_expect(!(lh_assert_left operation lh_assert_right), 0))                      \
            lh_assert_failed(__FILE__, __LINE__, #left " " #operation " " #right, lh_assert_left,  \
                             lh_assert_right);                                                     \
    } while (0)

#endif
