// LIST: one member after the other says, page by page, what it holds. What cannot be asked is named
// as missing; the cursor names the member and the position to go on from.
#include "host/host_internal.h"
#include "host/query_internal.h"

#define PAGE_TRIES 3
#define PAGE_BYTES 1100     // of entries: a page fits a datagram
#define PAGE_SCAN 4096      // leases looked at for one page
#define ENTRY_BYTES_MAX 600 // no entry is longer

static void ask_page(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                     struct lh_host_effects *effects)
{
    struct lh_host_message message = {.kind = LH_HOST_PAGE_ASK,
                                      .nonce = query->nonce,
                                      .position = query->position,
                                      .text = lh_query_name(host, query)};
    query->tries++;
    lh_host_send(effects, host->config.members[query->member], &message, 0);
    lh_wheel_schedule(&host->wheel, &query->timer,
                      lh_after(now, (struct lh_duration){LH_QUERY_ROUND_LASTS}));
}

static void finish_list(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    bool more = query->member < host->config.member_count;
    struct lh_result result = {
        .status = LH_STATUS_LISTED,
        .entries = lh_slice_of(query->entries, query->entry_bytes),
        .entry_count = query->entry_count,
        .cursor = more ? (uint64_t)(query->member + 1u) << 32 | query->position : 0,
        .age = {now.ns - query->asked_at.ns},
        .missing_count = query->missing_count,
    };
    memcpy(result.missing, query->missing, sizeof result.missing);
    lh_query_finish(host, query, &result, now, effects);
}

// Goes on with the next member that can answer, or finishes.
static void list_next(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    for (; query->member < host->config.member_count; query->member++) {
        query->tries = 0;
        const struct lh_peer *peer = &host->peers.peers[query->member];
        if (peer->up || peer->node == host->config.node) {
            ask_page(host, query, now, effects);
            return;
        }
        query->missing[query->missing_count++] = peer->node;
        query->position = 0;
    }
    finish_list(host, query, now, effects);
}

void lh_query_list(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                   struct lh_host_effects *effects)
{
    struct lh_query *query = lh_query_new(host, LH_QUERY_PAGES, request, now);
    if (query == NULL) {
        lh_query_no_room(host, request, effects);
        return;
    }
    uint64_t member = request->cursor >> 32;
    if (member > 0) {
        query->member =
            member <= host->config.member_count ? (uint8_t)(member - 1) : host->config.member_count;
        query->position = (uint32_t)request->cursor;
    }
    list_next(host, query, now, effects);
}

void lh_query_on_page_ask(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                          struct lh_instant now, struct lh_host_effects *effects)
{
    uint8_t page[PAGE_BYTES];
    struct lh_writer writer = lh_writer_of(page, sizeof page);
    struct lh_host_message answer = {.kind = LH_HOST_PAGE, .nonce = message->nonce};
    uint32_t at = message->position;
    uint32_t scanned = 0;
    for (; at < host->machine.used && scanned < PAGE_SCAN && answer.count < UINT8_MAX;
         at++, scanned++) {
        if (lh_writer_left_bytes(&writer) < ENTRY_BYTES_MAX)
            break;
        struct lh_entry entry;
        struct lh_texts_of_entry texts;
        if (lh_machine_lease(&host->machine, at + 1)->proposer.held == LH_BALLOT_NONE ||
            !lh_tenant_describe(host, at + 1, now, &texts, &entry) ||
            !lh_slice_has_prefix(entry.name, message->text))
            continue;
        lh_entry_write(&writer, &entry);
        answer.count++;
    }
    answer.position = at < host->machine.used ? at : 0;
    answer.text = lh_writer_slice(&writer);
    lh_host_send(effects, node, &answer, 0);
}

// Takes over whole entries only; a page that does not decode is no page.
static bool take_page(struct lh_query *query, const struct lh_host_message *message)
{
    struct lh_reader reader = lh_reader_of(message->text);
    for (unsigned i = 0; i < message->count; i++) {
        struct lh_entry entry;
        lh_entry_read(&reader, &entry);
    }
    if (!lh_reader_done(&reader) ||
        message->text.size_bytes > sizeof query->entries - query->entry_bytes)
        return false;
    if (message->text.size_bytes > 0)
        memcpy(query->entries + query->entry_bytes, message->text.data, message->text.size_bytes);
    query->entry_bytes += (uint32_t)message->text.size_bytes;
    query->entry_count += message->count;
    return true;
}

void lh_query_on_page(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = lh_query_of(host, message->nonce);
    if (query == NULL || query->kind != LH_QUERY_PAGES || query->member != member ||
        (message->position != 0 && message->position <= query->position) ||
        !take_page(query, message))
        return;
    query->nonce += UINT64_C(1) << 32; // a second copy of this page is of no use
    query->position = message->position;
    query->tries = 0;
    if (query->position == 0)
        query->member++;
    uint32_t wanted = lh_request_get(host, query->request)->count;
    bool full = sizeof query->entries - query->entry_bytes < LH_DATAGRAM_MAX;
    if (query->entry_count >= wanted || full)
        finish_list(host, query, now, effects);
    else
        list_next(host, query, now, effects);
}

void lh_query_list_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    if (query->tries < PAGE_TRIES) {
        ask_page(host, query, now, effects);
        return;
    }
    query->missing[query->missing_count++] = host->config.members[query->member++];
    query->position = 0;
    list_next(host, query, now, effects);
}
