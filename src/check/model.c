// The modules under one roof, names of actions and invariants, and the memory for successors.
#include "check/model.h"

#include <stdlib.h>

#include "check/closed_model.h"
#include "check/composition_model.h"
#include "check/lease_model.h"

bool lh_model_open(struct lh_model *model, const struct lh_check_config *config)
{
    if (config->module == LH_CHECK_COMPOSITION)
        return lh_composition_model_open(model, config);
    if (config->module == LH_CHECK_CLOSED)
        return lh_closed_model_open(model, config);
    return lh_lease_model_open(model, config);
}

void lh_model_close(struct lh_model *model)
{
    if (model != NULL && model->close != NULL)
        model->close(model);
}

bool lh_batch_open(struct lh_batch *batch, const struct lh_model *model, uint32_t capacity)
{
    *batch = (struct lh_batch){
        .raw = aligned_alloc(64, (size_t)capacity * model->layout.stride),
        .lanes = calloc((size_t)capacity * model->layout.lanes, sizeof(struct lh_fp)),
        .actions = calloc(capacity, sizeof(struct lh_action)),
        .parents = calloc(capacity, sizeof(uint32_t)),
        .ordinals = calloc(capacity, sizeof(uint8_t)),
        .outside = calloc(capacity, sizeof(bool)),
        .capacity = capacity,
    };
    if (batch->raw != NULL && batch->lanes != NULL && batch->actions != NULL &&
        batch->parents != NULL && batch->ordinals != NULL && batch->outside != NULL)
        return true;
    lh_batch_close(batch);
    return false;
}

void lh_batch_close(struct lh_batch *batch)
{
    if (batch == NULL)
        return;
    free(batch->raw);
    free(batch->lanes);
    free(batch->actions);
    free(batch->parents);
    free(batch->ordinals);
    free(batch->outside);
    *batch = (struct lh_batch){0};
}

const char *lh_action_name(enum lh_action_kind kind)
{
    static const char *const names[LH_ACT_KINDS] = {
        [LH_ACT_INIT] = "Init",
        [LH_ACT_START_ACQUIRE] = "StartAcquire",
        [LH_ACT_DELIVER_PREPARE] = "DeliverPrepare",
        [LH_ACT_DELIVER_PROMISE] = "DeliverPromise",
        [LH_ACT_SEND_ACCEPT] = "SendAccept",
        [LH_ACT_DELIVER_ACCEPT] = "DeliverAcceptReq",
        [LH_ACT_DELIVER_ACCEPTED] = "DeliverAccepted",
        [LH_ACT_ABANDON] = "AbandonAttempt",
        [LH_ACT_RELEASE] = "Release",
        [LH_ACT_DELIVER_RELEASE] = "DeliverRelease",
        [LH_ACT_DROP] = "DropMessage",
        [LH_ACT_TICK] = "Tick",
        [LH_ACT_CRASH_PROPOSER] = "CrashProposer",
        [LH_ACT_RESTART_PROPOSER] = "RestartProposer",
        [LH_ACT_CRASH_ACCEPTOR] = "CrashAcceptor",
        [LH_ACT_RESTART_ACCEPTOR] = "RestartAcceptor",
        [LH_ACT_STUTTER] = "StutterAtEnd",
        [LH_ACT_ACQUIRE_LEASE] = "AcquireLease",
        [LH_ACT_START_RECOVERY] = "StartRecovery",
        [LH_ACT_FINISH_RECOVERY] = "FinishRecovery",
        [LH_ACT_BECOME_READY] = "BecomeReady",
        [LH_ACT_ADMIT] = "AdmitOrApply",
        [LH_ACT_ACTIVATE] = "Activate",
        [LH_ACT_EXTEND] = "SendExtend",
        [LH_ACT_DELIVER_EXTEND] = "DeliverExtend",
        [LH_ACT_EXTENDED] = "Extended",
        [LH_ACT_FORGET] = "Forget",
        [LH_ACT_LOWER_CEILING] = "LowerCeiling",
        [LH_ACT_STOP_ACCEPTOR] = "StopAcceptor",
        [LH_ACT_RESTORE_ACCEPTOR] = "RestoreAcceptor",
        [LH_ACT_RESTORE_PROPOSER] = "RestoreProposer",
        [LH_ACT_REPLACE_ACCEPTOR] = "ReplaceAcceptor",
        [LH_ACT_ABANDON_RELEASE] = "AbandonAndRelease",
    };
    return names[kind];
}

const char *lh_invariant_name(enum lh_invariant invariant)
{
    static const char *const names[LH_INV_COUNT] = {
        [LH_INV_NONE] = "",
        [LH_INV_TYPE_OK] = "TypeOK",
        [LH_INV_ACCEPTED_COHERENCE] = "AcceptedCoherence",
        [LH_INV_ACTIVE_IMPLIES_UNEXPIRED] = "ActiveImpliesUnexpired",
        [LH_INV_LEASE_EXCLUSIVITY] = "LeaseExclusivity",
        [LH_INV_ACTIVATION_HAS_QUORUM] = "ActivationHasQuorum",
        [LH_INV_TIMER_CONTAINMENT] = "TimerContainment",
        [LH_INV_QUARANTINE_PREVENTS_PARTICIPATION] = "QuarantinePreventsParticipation",
        [LH_INV_ACTIVE_BALLOT_WELL_FORMED] = "ActiveBallotWellFormed",
        [LH_INV_ATTEMPT_FRESHNESS] = "AttemptFreshness",
        [LH_INV_CHOSEN_VALUE_WELL_FORMED] = "ChosenValueWellFormed",
        [LH_INV_READY_IMPLIES_ACTIVE] = "ReadyImpliesActive",
        [LH_INV_READY_LEADER_UNIQUENESS] = "ReadyLeaderUniqueness",
        [LH_INV_RECOVERY_PRECEDES_ADMISSION] = "RecoveryPrecedesAdmission",
        [LH_INV_READY_IMPLIES_RECOVERED] = "ReadyImpliesRecovered",
        [LH_INV_APPLIED_IMPLIES_CHOSEN] = "AppliedImpliesChosen",
        [LH_INV_LOG_PREFIX_CONSISTENCY] = "LogPrefixConsistency",
        [LH_INV_TOKEN_ORDER] = "TokenOrder",
        [LH_INV_CONFORMANCE] = "Conformance",
    };
    return names[invariant];
}
