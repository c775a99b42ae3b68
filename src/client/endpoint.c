// See endpoint.h.
#include "client/endpoint.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "os/address.h"

#define DEFAULT_PORT 7742
#define FORMS "write unix:PATH, /PATH, tcp:HOST:PORT or HOST:PORT"

static struct lh_endpoint *append(struct lh_endpoint_list *list, const char *text)
{
    if (list->count == LH_ENDPOINTS_MOST)
        return NULL;
    struct lh_endpoint *endpoint = &list->items[list->count++];
    memset(endpoint, 0, sizeof *endpoint);
    snprintf(endpoint->text, sizeof endpoint->text, "%s", text);
    return endpoint;
}

static bool too_many(struct lh_error *error)
{
    return lh_error_set(error, "more than %d endpoints or addresses: name fewer",
                        LH_ENDPOINTS_MOST);
}

static bool append_unix(struct lh_endpoint_list *list, const char *text, const char *path,
                        struct lh_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0')
        return lh_error_set(error, "endpoint '%s': the path is missing: " FORMS, text);
    if (strlen(path) >= sizeof address.sun_path)
        return lh_error_set(error, "endpoint '%s': a socket's path is at most %zu bytes long", text,
                            sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    struct lh_endpoint *endpoint = append(list, text);
    if (endpoint == NULL)
        return too_many(error);
    memcpy(&endpoint->address, &address, sizeof address);
    endpoint->address_size = sizeof address;
    return true;
}

static bool append_socket(struct lh_endpoint_list *list, const char *text, const void *socket,
                          socklen_t size_bytes, struct lh_error *error)
{
    struct lh_endpoint *endpoint = append(list, text);
    if (endpoint == NULL)
        return too_many(error);
    memcpy(&endpoint->address, socket, size_bytes);
    endpoint->address_size = size_bytes;
    return true;
}

// Every address of a host is an endpoint: `localhost` is often two, and a daemon listens on one of
// them.
static bool append_host(struct lh_endpoint_list *list, const char *text,
                        const struct lh_address *address, struct lh_error *error)
{
    char port[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    snprintf(port, sizeof port, "%u", (unsigned)address->port);
    int failure = getaddrinfo(address->host, port, &hints, &found);
    if (failure != 0)
        return lh_error_set(error, "endpoint '%s': no address for host '%s': %s", text,
                            address->host, gai_strerror(failure));
    bool good = true;
    for (struct addrinfo *at = found; at != NULL && good; at = at->ai_next)
        good = append_socket(list, text, at->ai_addr, at->ai_addrlen, error);
    freeaddrinfo(found);
    return good;
}

static bool append_tcp(struct lh_endpoint_list *list, const char *text, const char *where,
                       struct lh_error *error)
{
    struct lh_address address;
    const char *reason;
    struct stat status;
    if (strchr(where, ':') == NULL && stat(where, &status) == 0 && S_ISSOCK(status.st_mode))
        return lh_error_set(error, "endpoint '%s' is a socket in this directory: write ./%s", text,
                            where);
    if (strstr(text, "://") != NULL)
        return lh_error_set(error, "endpoint '%s' is a URL: " FORMS, text);
    if (strchr(where, ':') == NULL || where[strlen(where) - 1] == ']')
        return lh_error_set(error, "endpoint '%s' has no port: " FORMS, text);
    if (!lh_address_parse(lh_slice_of_string(where), DEFAULT_PORT, &address, &reason))
        return lh_error_set(error, "endpoint '%s' is refused: %s; " FORMS, text, reason);
    if (address.is_numeric)
        return append_socket(list, text, &address.socket, address.size_bytes, error);
    return append_host(list, text, &address, error);
}

static bool append_word(struct lh_endpoint_list *list, const char *word, struct lh_error *error)
{
    if (word[0] == '\0')
        return lh_error_set(error, "an endpoint is empty: " FORMS);
    if (strncmp(word, "unix:", 5) == 0)
        return append_unix(list, word, word + 5, error);
    if (word[0] == '/' || word[0] == '.')
        return append_unix(list, word, word, error);
    if (strncmp(word, "tcp:", 4) == 0)
        return append_tcp(list, word, word + 4, error);
    return append_tcp(list, word, word, error);
}

// The word without the blanks around it; cuts it in place.
static char *trim(char *word)
{
    word += strspn(word, " \t\n");
    size_t size = strlen(word);
    while (size > 0 && strchr(" \t\n", word[size - 1]) != NULL)
        size--;
    word[size] = '\0';
    return word;
}

enum lh_return lh_endpoint_list_parse(const char *text, struct lh_endpoint_list *ret_list,
                                      struct lh_error *error)
{
    char *copy = strdup(text);
    struct lh_endpoint_list list = {.count = 0};
    if (copy == NULL) {
        lh_error_set(error, "out of memory");
        return LH_MEMORY;
    }
    bool good = true;
    for (char *word = copy; good && word != NULL;) {
        char *comma = strchr(word, ',');
        if (comma != NULL)
            *comma = '\0';
        good = append_word(&list, trim(word), error);
        word = comma == NULL ? NULL : comma + 1;
    }
    free(copy);
    if (!good)
        return LH_ARGUMENT;
    *ret_list = list;
    return LH_OK;
}

bool lh_endpoint_list_find(const char *text, struct lh_endpoint_list *ret_list,
                           bool *ret_from_environment, struct lh_error *error)
{
    const char *variable = getenv("LEASEHOLD_CONNECT");
    struct lh_error why;
    bool from_environment = text == NULL && variable != NULL && variable[0] != '\0';
    if (text == NULL)
        text = from_environment ? variable : LH_ENDPOINT_DEFAULT;
    if (lh_endpoint_list_parse(text, ret_list, &why) != LH_OK)
        return lh_error_set(error, "%s%s", from_environment ? "LEASEHOLD_CONNECT: " : "", why.text);
    *ret_from_environment = from_environment;
    return true;
}
