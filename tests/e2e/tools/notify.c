// Stands where systemd stands: binds the datagram socket it is given and prints what it is told.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[4096];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (count != 2 || strlen(arguments[1]) >= sizeof address.sun_path)
        return 64;
    strcpy(address.sun_path, arguments[1]);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        perror(arguments[1]);
        return 1;
    }
    for (ssize_t size; (size = read(fd, text, sizeof text)) >= 0;) {
        printf("%.*s\n", (int)size, text);
        fflush(stdout);
    }
    return 1;
}
