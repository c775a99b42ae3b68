// See oracle.h.
#include "sim/oracle.h"

#include <stdarg.h>
#include <stdio.h>

static bool is_client(unsigned who)
{
    return who >= LH_SIM_NODES_MAX;
}

static const char *kind_of(unsigned who)
{
    return is_client(who) ? "client" : "node";
}

static unsigned number_of(unsigned who)
{
    return is_client(who) ? who - LH_SIM_NODES_MAX : who + 1;
}

void lh_sim_oracle_break(struct lh_sim_oracle *oracle, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!oracle->broken) // the first one is told
        vsnprintf(oracle->what, sizeof oracle->what, format, list);
    va_end(list);
    oracle->broken = true;
}

// Two who cannot both be right. A node and its client can, under one token.
static bool exclude(const struct lh_sim_oracle *oracle, unsigned name, unsigned a, unsigned b)
{
    return is_client(a) == is_client(b) ||
           oracle->names[name].tokens[a] != oracle->names[name].tokens[b];
}

static void note_contested(struct lh_sim_oracle *oracle, unsigned name)
{
    uint32_t claims = oracle->names[name].claims;
    oracle->contested &= ~(UINT32_C(1) << name);
    if ((claims & (claims - 1)) == 0)
        return;
    for (unsigned a = 0; a < LH_SIM_CLAIMS_MAX; a++)
        for (unsigned b = a + 1; b < LH_SIM_CLAIMS_MAX; b++)
            if ((claims >> a & 1) != 0 && (claims >> b & 1) != 0 && exclude(oracle, name, a, b))
                oracle->contested |= UINT32_C(1) << name;
}

static void check(struct lh_sim_oracle *oracle, unsigned name, int64_t true_ns)
{
    unsigned believers[LH_SIM_CLAIMS_MAX];
    unsigned count = 0;
    for (uint32_t left = oracle->names[name].claims; left != 0; left &= left - 1) {
        unsigned who = (unsigned)__builtin_ctz(left);
        if (oracle->believes(oracle->context, who, name, true_ns))
            believers[count++] = who;
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = i + 1; j < count; j++)
            if (exclude(oracle, name, believers[i], believers[j]))
                lh_sim_oracle_break(
                    oracle, "%s %u under token %llu and %s %u under %llu both hold n%u",
                    kind_of(believers[i]), number_of(believers[i]),
                    (unsigned long long)oracle->names[name].tokens[believers[i]],
                    kind_of(believers[j]), number_of(believers[j]),
                    (unsigned long long)oracle->names[name].tokens[believers[j]], name);
}

void lh_sim_oracle_contested(struct lh_sim_oracle *oracle, int64_t true_ns)
{
    for (uint32_t left = oracle->contested; left != 0; left &= left - 1)
        check(oracle, (unsigned)__builtin_ctz(left), true_ns);
}

void lh_sim_oracle_granted(struct lh_sim_oracle *oracle, unsigned name, uint64_t token,
                           int64_t true_ns)
{
    (void)true_ns;
    if (token <= oracle->names[name].node_token && !oracle->tokens_fall)
        lh_sim_oracle_break(oracle, "n%u was granted under token %llu after %llu", name,
                            (unsigned long long)token,
                            (unsigned long long)oracle->names[name].node_token);
    oracle->names[name].node_token = token;
}

static void look_again(struct lh_sim_oracle *oracle, unsigned who, unsigned name, int64_t true_ns)
{
    int64_t ends = oracle->ends(oracle->context, who, name);
    int64_t next = ends - 1 > true_ns ? ends - 1 : ends > true_ns ? ends : ends + 1;
    if (next > true_ns && next != INT64_MAX && ends != INT64_MAX) {
        oracle->names[name].looking |= UINT32_C(1) << who;
        oracle->look(oracle->context, who, name, next);
        return;
    }
    oracle->names[name].looking &= ~(UINT32_C(1) << who);
    oracle->names[name].claims &= ~(UINT32_C(1) << who);
    oracle->ended(oracle->context, who, name, ends);
    note_contested(oracle, name);
}

uint64_t lh_sim_oracle_claim(struct lh_sim_oracle *oracle, unsigned who, unsigned name,
                             uint64_t token, int64_t true_ns)
{
    if (is_client(who)) {
        uint64_t last = oracle->names[name].client_token;
        bool falls = token < last || (token == last && oracle->names[name].client != who);
        if (falls && !oracle->tokens_fall)
            lh_sim_oracle_break(oracle, "client %u holds n%u under token %llu after %llu",
                                number_of(who), name, (unsigned long long)token,
                                (unsigned long long)last);
        if (token != last || oracle->names[name].client != who)
            oracle->names[name].grants++;
        oracle->names[name].client_token = token;
        oracle->names[name].client = who;
    }
    uint32_t bit = UINT32_C(1) << who;
    bool known =
        (oracle->names[name].claims & bit) != 0 && oracle->names[name].tokens[who] == token;
    oracle->names[name].claims |= bit;
    oracle->names[name].tokens[who] = token;
    oracle->held(oracle->context, who, name, token);
    if (!known)
        note_contested(oracle, name);
    check(oracle, name, true_ns);
    if ((oracle->names[name].looking & bit) == 0)
        look_again(oracle, who, name, true_ns);
    return oracle->names[name].grants;
}

void lh_sim_oracle_drop(struct lh_sim_oracle *oracle, unsigned who, unsigned name)
{
    oracle->names[name].claims &= ~(UINT32_C(1) << who);
    oracle->ended(oracle->context, who, name, INT64_MAX);
    note_contested(oracle, name);
}

void lh_sim_oracle_edge(struct lh_sim_oracle *oracle, unsigned who, unsigned name, int64_t true_ns)
{
    uint32_t bit = UINT32_C(1) << who;
    if ((oracle->names[name].claims & bit) == 0) { // it has stopped
        oracle->names[name].looking &= ~bit;
        return;
    }
    int64_t ends = oracle->ends(oracle->context, who, name);
    if (oracle->believes(oracle->context, who, name, true_ns) != (true_ns < ends))
        lh_sim_oracle_break(oracle, "%s %u %s n%u at %lld ns although its deadline is at %lld ns",
                            kind_of(who), number_of(who),
                            true_ns < ends ? "does not hold" : "holds", name, (long long)true_ns,
                            (long long)ends);
    check(oracle, name, true_ns);
    look_again(oracle, who, name, true_ns);
}

bool lh_sim_oracle_write(struct lh_sim_oracle *oracle, unsigned name, uint64_t token,
                         uint64_t grant)
{
    if (token < oracle->names[name].highest)
        return false;
    oracle->names[name].highest = token;
    if (grant < oracle->names[name].written && !oracle->tokens_fall)
        lh_sim_oracle_break(
            oracle, "the resource of n%u took a write of grant %llu after one of %llu", name,
            (unsigned long long)grant, (unsigned long long)oracle->names[name].written);
    oracle->names[name].written = grant;
    return true;
}
