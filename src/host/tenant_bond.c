// A lease that its holder wants to have released when it dies: it is bound to the connection it was
// granted on (ACQUIRE ON-DISCONNECT release), and let go when that connection's client is known to
// have ended.
//
// What must stay true: nobody ends a lease under a holder that still believes. A bond is only to a
// connection whose end proves its client's, and only as long as the lease was granted on no other
// one, by acquiring again or by a renewal: who was told so there may believe after the first is dead.
// A connection that this node ends, or that ends with it, proves nothing.
#include "host/host_internal.h"
#include "host/tenant_internal.h"

static struct lh_session *session_of(struct lh_host *host, const struct lh_tenant *tenant)
{
    return &host->sessions.sessions[tenant->bond_session - 1];
}

void lh_tenant_unbind(struct lh_host *host, uint32_t id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->orphaned = false;
    if (tenant->bond_session == 0)
        return;
    if (tenant->bond_previous != 0)
        lh_tenant_of(&host->tenants, tenant->bond_previous)->bond_next = tenant->bond_next;
    else
        session_of(host, tenant)->bonds = tenant->bond_next;
    if (tenant->bond_next != 0)
        lh_tenant_of(&host->tenants, tenant->bond_next)->bond_previous = tenant->bond_previous;
    tenant->bond_session = tenant->bond_next = tenant->bond_previous = 0;
}

static void bind(struct lh_host *host, uint32_t id, uint32_t session_id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_session *session = &host->sessions.sessions[session_id];
    LH_ASSERT(session->local);
    tenant->bond_session = session_id + 1;
    tenant->bond_next = session->bonds;
    if (session->bonds != 0)
        lh_tenant_of(&host->tenants, session->bonds)->bond_previous = id;
    session->bonds = id;
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
    while (session->bonds != 0) {
        uint32_t id = session->bonds;
        lh_tenant_unbind(host, id);
        lh_tenant_of(&host->tenants, id)->orphaned = client_ended;
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
