// A lease from its first to its last word through hiredis: acquires, renews, gets and releases at
// the socket it is given. Exits with 0, or says which reply was not what it should be.
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In RESP2 a map is an array of keys and values in turn.
static const redisReply *value_of(const redisReply *reply, const char *key)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, key) == 0)
            return reply->element[i + 1];
    return NULL;
}

static redisReply *expect(redisContext *context, const char *command, const char *status)
{
    redisReply *reply = redisCommand(context, command);
    const redisReply *found = reply != NULL ? value_of(reply, "status") : NULL;
    if (found != NULL && strcmp(found->str, status) == 0)
        return reply;
    fprintf(stderr, "%s: %s instead of %s\n", command,
            reply == NULL   ? context->errstr
            : found != NULL ? found->str
                            : reply->str,
            status);
    exit(1);
}

int main(int count, char **arguments)
{
    char command[256];
    redisContext *context = count == 2 ? redisConnectUnix(arguments[1]) : NULL;
    if (context == NULL || context->err != 0) {
        fprintf(stderr, "no connection: %s\n",
                context != NULL ? context->errstr : "usage: hiredis_lease SOCKET");
        return 1;
    }
    redisReply *reply = expect(context, "LEASE ACQUIRE hi TTL 2s HOLDER hiredis", "granted");
    long long token = value_of(reply, "token")->integer;
    freeReplyObject(reply);
    snprintf(command, sizeof command, "LEASE RENEW hi %lld hiredis TTL 3s", token);
    reply = expect(context, command, "granted");
    bool same = value_of(reply, "token")->integer == token;
    freeReplyObject(reply);
    reply = expect(context, "LEASE GET hi", "held");
    same = same && value_of(reply, "token")->integer == token;
    freeReplyObject(reply);
    snprintf(command, sizeof command, "LEASE RELEASE hi %lld hiredis", token);
    freeReplyObject(expect(context, command, "released"));
    redisFree(context);
    if (!same)
        fprintf(stderr, "the token changed\n");
    return same ? 0 : 1;
}
