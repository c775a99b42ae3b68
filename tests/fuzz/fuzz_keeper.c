// A client's lease against a server that may say anything, in pieces, at any time. Each byte of the
// input picks what happens; some take the bytes behind it:
//
//     'r' n bytes      these n bytes arrive
//     'g' t u          granted: token t, for u * 50 ms
//     'h' t, 'w', 'n', 'l', 'v', 'd'    held under t, turn, noquorum, lost, revoked, released
//     't' n            n * 10 ms pass;   'T' n: n seconds
//     'c', 'x'         the connection is made, ends
//     'R', 'i', 'I'    the application releases; shows no interest from now on; does again
//
// What must stay true: once over, never valid again; no deadline moves back but by a release; a
// step asks for boundedly many connections.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/keeper.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%d: %s\n", __LINE__, #condition);                                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static struct lh_keeper keeper;
static int64_t now_ms;
static bool greeted; // of the present connection

static struct lh_instant now(void)
{
    return (struct lh_instant){now_ms * LH_NS_PER_MS};
}

static void carry(void)
{
    enum lh_keeper_wish wish;
    unsigned wishes = 0;
    while ((wish = lh_keeper_wish(&keeper)) != LH_KEEPER_NOTHING) {
        CHECK(++wishes < 64);
        if (wish == LH_KEEPER_CONNECT) {
            lh_keeper_name_endpoint(&keeper, "there");
            greeted = false;
        } else if (wish == LH_KEEPER_WRITE) {
            struct lh_slice output = lh_keeper_output(&keeper, now());
            lh_keeper_wrote(&keeper, (output.size_bytes + 1) / 2);
        }
    }
}

static void receive(const void *bytes, size_t size)
{
    size_t room;
    uint8_t *at = lh_keeper_input(&keeper, &room);
    if (size > room)
        size = room;
    if (size == 0 || keeper.link != LH_LINK_OPEN)
        return;
    memcpy(at, bytes, size);
    lh_keeper_received(&keeper, now(), size);
    carry();
}

static void answer(const char *status, int token, int until)
{
    char text[400];
    if (!greeted)
        receive("+OK\r\n", 5);
    greeted = true;
    int size = snprintf(
        text, sizeof text,
        "%%7\r\n+status\r\n+%s\r\n+token\r\n:%d\r\n+holder\r\n+%s\r\n"
        "+ttl-ms\r\n:%d\r\n+until-ns\r\n:%d000000\r\n+revoked\r\n:%d\r\n+reason\r\n+so\r\n",
        status, token, token % 2 == 0 ? "me" : "you", 1000, until * 50, token % 3 == 0);
    receive(text, (size_t)size);
}

// Does the operation at `bytes`; returns how many it took.
static size_t operate(const uint8_t *bytes, size_t size)
{
    int first = size > 1 ? bytes[1] : 0;
    switch (bytes[0]) {
    case 'r': {
        size_t wanted = (size_t)first < size - 1 ? (size_t)first : size - 1;
        if (size > 2)
            receive(bytes + 2, wanted < size - 2 ? wanted : size - 2);
        return 2 + wanted;
    }
    case 'g': answer("granted", first, size > 2 ? bytes[2] : 0); return 3;
    case 'h': answer("held", first, 0); return 2;
    case 'w': answer("turn", 0, 0); return 1;
    case 'n': answer("noquorum", 0, 1); return 1;
    case 'l': answer("lost", 1, 0); return 1;
    case 'v': answer("lost", 3, 0); return 1;
    case 'd': answer("released", 0, 0); return 1;
    case 't': now_ms += first * 10; return 2;
    case 'T': now_ms += first * 1000; return 2;
    case 'c': lh_keeper_connected(&keeper, now()); return 1;
    case 'x': lh_keeper_ended(&keeper, now(), (enum lh_reach)(first % 4), "so"); return 2;
    case 'R': lh_keeper_release(&keeper, now()); return 1;
    case 'i': lh_keeper_interest(&keeper, now()); return 1;
    case 'I': lh_keeper_interest(&keeper, LH_NEVER); return 1;
    default: return 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bool over = false;
    bool was_granted = false;
    struct lh_instant deadline = LH_PAST;
    struct lh_keeper_event event;
    now_ms = 1000;
    struct lh_keeper_plan plan = {.name = "job",
                                  .holder = "me",
                                  .token = size > 0 && bytes[0] % 2 == 1 ? 8 : 0,
                                  .wait = {INT64_MAX},
                                  .patience = lh_ms(5000),
                                  .endpoint_count = 1 + (size > 1 ? bytes[1] % 3u : 0),
                                  .seed = 1};
    lh_keeper_init(&keeper, &plan, now());
    carry();
    for (size_t at = 2; at < size;) {
        bool release = bytes[at] == 'R';
        at += operate(bytes + at, size - at);
        lh_keeper_turn(&keeper, now());
        carry();
        bool valid = lh_before(now(), lh_keeper_deadline(&keeper));
        CHECK(!(over && valid));
        over = over || (was_granted && !valid) || (release && keeper.phase >= LH_KEEPER_RELEASING);
        was_granted = was_granted || valid;
        CHECK(release || keeper.phase >= LH_KEEPER_RELEASING ||
              !lh_before(lh_keeper_deadline(&keeper), deadline));
        deadline = lh_keeper_deadline(&keeper);
        CHECK(!lh_before(lh_keeper_wake_at(&keeper), LH_PAST));
        while (lh_keeper_event(&keeper, &event))
            CHECK(event.kind <= LH_KEEPER_WAS_RELEASED);
    }
    return 0;
}
