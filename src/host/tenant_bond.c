// A lease that its holder wants to have released when it dies: it is bound to the connection it was
// granted on (ACQUIRE ON-DISCONNECT release), and let go when that connection's client is known to
// have ended.
//
// What must stay true: nobody ends a lease under a holder that still believes. A bond is only to a
// connection whose end proves its client's, and only as long as the lease was granted on no other
// one, by acquiring again or by a renewal: who was told so there may believe after the first is dead.
// A connection that this node ends, or that ends with it, proves nothing.
//
// The leases of one connection are a ring, so that its end costs the same however many they are: its
// ring becomes a part of the ring of orphans, from which each timer step lets some go. Until then an
// orphan is held as any other, and a bond that is taken away takes it out.
#include "host/host_internal.h"
#include "host/tenant_internal.h"

#define ORPHANS_A_STEP 16

// Puts two rings together, `other` behind the last of `first`.
static void join(struct lh_host *host, uint32_t first, uint32_t other)
{
    struct lh_tenant *a = lh_tenant_of(&host->tenants, first);
    struct lh_tenant *b = lh_tenant_of(&host->tenants, other);
    uint32_t last = a->bond_previous;
    lh_tenant_of(&host->tenants, last)->bond_next = other;
    lh_tenant_of(&host->tenants, b->bond_previous)->bond_next = first;
    a->bond_previous = b->bond_previous;
    b->bond_previous = last;
}

static void add(struct lh_host *host, uint32_t *ring, uint32_t other)
{
    if (*ring == 0)
        *ring = other;
    else
        join(host, *ring, other);
}

void lh_tenant_unbind(struct lh_host *host, uint32_t id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->orphaned = false;
    if (tenant->bond_next == 0)
        return;
    const uint32_t next = tenant->bond_next != id ? tenant->bond_next : 0;
    // Another connection may be bond_session by now; this lease does not begin that one's ring.
    uint32_t *bonds = &host->sessions.sessions[tenant->bond_session].bonds;
    if (*bonds == id)
        *bonds = next;
    if (host->tenants.orphans == id)
        host->tenants.orphans = next;
    lh_tenant_of(&host->tenants, tenant->bond_previous)->bond_next = tenant->bond_next;
    lh_tenant_of(&host->tenants, tenant->bond_next)->bond_previous = tenant->bond_previous;
    tenant->bond_session = tenant->bond_next = tenant->bond_previous = 0;
}

static void bind(struct lh_host *host, uint32_t id, uint32_t session_id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_session *session = &host->sessions.sessions[session_id];
    LH_ASSERT(session->local);
    tenant->bond_session = session_id;
    tenant->bond_next = tenant->bond_previous = id;
    add(host, &session->bonds, id);
}

void lh_tenant_granted_to(struct lh_host *host, uint32_t id, const struct lh_request *request)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    uint64_t connection = LH_GRANTED_TO_MANY;
    if (request->peer == 0)
        connection = host->sessions.sessions[request->session].number;
    if (tenant->granted_to == 0)
        tenant->granted_to = connection;
    if (tenant->granted_to != connection)
        tenant->granted_to = LH_GRANTED_TO_MANY;
    if (tenant->granted_to != LH_GRANTED_TO_MANY && request->kind == LH_REQUEST_RENEW)
        return;
    lh_tenant_unbind(host, id);
    if (tenant->granted_to != LH_GRANTED_TO_MANY && request->bound)
        bind(host, id, request->session);
}

void lh_tenant_session_ended(struct lh_host *host, uint32_t session_id, bool client_ended)
{
    struct lh_session *session = &host->sessions.sessions[session_id];
    if (client_ended && session->bonds != 0)
        add(host, &host->tenants.orphans, session->bonds);
    session->bonds = 0; // if the client may live, nothing will look for this ring any more
}

void lh_tenant_let_go_orphans(struct lh_host *host, struct lh_instant now,
                              struct lh_host_effects *effects)
{
    for (unsigned i = 0;
         i < ORPHANS_A_STEP && host->tenants.orphans != 0 && lh_host_has_room(effects); i++) {
        uint32_t id = host->tenants.orphans;
        lh_tenant_unbind(host, id);
        lh_tenant_of(&host->tenants, id)->orphaned = true;
        if (!lh_tenant_orphan_due(host, id, now, effects))
            lh_tenant_settle(host, id);
    }
}

bool lh_tenant_orphan_due(struct lh_host *host, uint32_t id, struct lh_instant now,
                          struct lh_host_effects *effects)
{
    if (!lh_tenant_orphan_ready(host, id))
        return false;
    lh_tenant_of(&host->tenants, id)->orphaned = false;
    if (!lh_tenant_holds(host, id, now))
        return false;
    lh_tenant_let_go(host, id, now, effects);
    return true;
}

// A renewal's Accepts that are out would outlive a Release: their outcome comes first.
bool lh_tenant_orphan_ready(struct lh_host *host, uint32_t id)
{
    return lh_tenant_of(&host->tenants, id)->orphaned &&
           lh_tenant_lease(host, id)->proposer.phase != LH_ACCEPTING;
}
