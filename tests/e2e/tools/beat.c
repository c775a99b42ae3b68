// The command that the tests wrap: appends "TOKEN BOOTTIME_NS" to the file it is given every 10 ms
// until it is killed. Each beat is one write to a file opened for appending, so the file's order is
// the order of the writes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    const char *token = getenv("LEASEHOLD_TOKEN");
    int file = count > 1 ? open(arguments[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (token == NULL || file < 0) {
        fprintf(stderr, "usage: beat FILE, under `leasehold run`\n");
        return 64;
    }
    for (;;) {
        struct timespec now, pause = {.tv_nsec = 10000000};
        char line[64];
        clock_gettime(CLOCK_BOOTTIME, &now);
        int size = snprintf(line, sizeof line, "%s %lld\n", token,
                            (long long)now.tv_sec * 1000000000 + now.tv_nsec);
        if (write(file, line, (size_t)size) != size)
            return 1;
        nanosleep(&pause, NULL);
    }
}
