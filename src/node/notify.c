// sd_notify(3) without libsystemd: see notify.h.
#include "node/notify.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

bool lh_notify(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof(address.sun_path))
        return false;
    const size_t length = strlen(path);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') // abstract: the name begins with NUL and has no end but its length
        address.sun_path[0] = '\0';
    const int notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (notify < 0)
        return false;
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    const ssize_t sent =
        sendto(notify, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    close(notify);
    return sent == (ssize_t)strlen(state);
}

void lh_notify_ready(void)
{
    lh_notify("READY=1");
}

void lh_notify_stopping(void)
{
    lh_notify("STOPPING=1");
}

void lh_notify_reloading(void)
{
    char state[64];
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)now_us);
    lh_notify(state);
}
