// A resource that refuses stale tokens: a file of lines that only grows, each written under the
// token of whoever held the lease, and a fence beside it.
//
//     cc fence.c $(pkg-config --cflags --libs leasehold) -o fence
//     ./fence FILE TOKEN TEXT
//
// Exit code: 0 written, 1 refused because a greater token was seen, 2 it could not be done.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // O_CLOEXEC
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <leasehold/fence.h>

// Between enter and leave: nobody with a greater token can be in between.
static int append(const char *path, int64_t token, const char *text)
{
    char line[512];
    int size = snprintf(line, sizeof line, "%" PRId64 " %s\n", token, text);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int good = fd >= 0 && size > 0 && (size_t)size < sizeof line &&
               write(fd, line, (size_t)size) == size && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return good ? 0 : 2;
}

int main(int argc, char **argv)
{
    char path[512];
    struct lh_fence *fence;
    if (argc != 4) {
        fprintf(stderr, "usage: fence FILE TOKEN TEXT\n");
        return 2;
    }
    char *end;
    int64_t token = strtoll(argv[2], &end, 10);
    if (token <= 0 || *end != '\0') {
        fprintf(stderr, "fence: '%s' is no token: give the LEASEHOLD_TOKEN of `leasehold run`\n",
                argv[2]);
        return 2;
    }
    snprintf(path, sizeof path, "%.500s.fence", argv[1]);
    enum lh_return result = lh_fence_open(path, &fence);
    if (result != LH_OK) {
        fprintf(stderr, "fence: %s: %s (%s)\n", path, lh_return_text(result), strerror(errno));
        return 2;
    }
    int exit_code = 1;
    result = lh_fence_enter(fence, token);
    if (result == LH_OK)
        exit_code = append(argv[1], token, argv[3]);
    else
        fprintf(stderr, "fence: token %" PRId64 ": %s\n", token, lh_return_text(result));
    lh_fence_leave(fence);
    lh_fence_close(fence);
    return result == LH_OK || result == LH_STALE ? exit_code : 2;
}
