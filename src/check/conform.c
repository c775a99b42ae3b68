// Opening, the choice of module, and the words for what does not conform.
#include "check/conform.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/conform_internal.h"

bool lh_conform_possible(const struct lh_check_config *config, char ret_error[LH_CHECK_ERROR_SIZE])
{
    const char *wrong = NULL;
    if (config->module == LH_CHECK_IMPL)
        wrong = "module impl is how others did it: --conform compares lease and closed";
    if (config->module == LH_CHECK_COMPOSITION)
        wrong = "module composition has no lease steps: --conform compares lease and closed";
    if (config->quorum_count != 0)
        wrong = "the code counts majorities: leave Quorums out under --conform";
    if (config->module == LH_CHECK_LEASE && config->proposer_duration == 0)
        wrong = "ProposerDuration=0 is no lease to the code, which drops it: give at least 1 "
                "under --conform";
    if (wrong == NULL)
        return true;
    snprintf(ret_error, LH_CHECK_ERROR_SIZE, "%s: %s", config->name, wrong);
    return false;
}

bool lh_conform_open(struct lh_conform *conform, const struct lh_model *model)
{
    *conform = (struct lh_conform){.model = model,
                                   .lanes = calloc(model->layout.lanes, sizeof(struct lh_fp)),
                                   .gate = lh_conform_gate_open(),
                                   .memo = {calloc(LH_CONFORM_MEMO_SLOTS, sizeof(struct lh_fp))}};
    if (!lh_batch_open(&conform->batch, model, model->max_successors))
        return false;
    conform->batch.keep_outside = true;
    return conform->lanes != NULL && conform->gate != NULL && conform->memo.slots != NULL;
}

void lh_conform_close(struct lh_conform *conform)
{
    if (conform == NULL)
        return;
    lh_batch_close(&conform->batch);
    free(conform->lanes);
    free(conform->memo.slots);
    lh_conform_gate_close(conform->gate);
    conform->lanes = NULL;
    conform->memo.slots = NULL;
    conform->gate = NULL;
}

bool lh_conform_state(struct lh_conform *conform, const uint8_t *raw)
{
    conform->fault = (struct lh_conform_fault){.ordinal = LH_CONFORM_NO_STEP};
    conform->batch.count = 0;
    conform->model->expand(conform->model, raw, conform->lanes, &conform->batch);
    return conform->model->config.module == LH_CHECK_CLOSED ? lh_conform_closed_state(conform, raw)
                                                            : lh_conform_lease_state(conform, raw);
}

void lh_conform_add(struct lh_conform_counts *counts, const struct lh_conform_counts *more)
{
    counts->steps += more->steps;
    counts->refusals += more->refusals;
    for (int i = 0; i < LH_CONFORM_DIFFERENCES; i++)
        counts->differences[i] += more->differences[i];
}

const char *lh_conform_difference_name(enum lh_conform_difference difference)
{
    static const char *const names[LH_CONFORM_DIFFERENCES] = {
        [LH_CONFORM_KEEPS_LIVE] = "keeps-live",
        [LH_CONFORM_KEEPS_RECORDED] = "keeps-recorded",
        [LH_CONFORM_REFUSES_SPENT] = "refuses-spent",
        [LH_CONFORM_RELEASE_ABANDONS] = "release-abandons",
    };
    return names[difference];
}

static void name_step(const struct lh_conform_step *step, char ret_text[LH_CONFORM_TEXT])
{
    char ballot[24] = "";
    char proposer[8] = "";
    char acceptor[8] = "";
    if (step->ballot != 0 && step->n != 0)
        snprintf(ballot, sizeof ballot, " %u.%u", step->ballot, step->n);
    else if (step->ballot != 0)
        snprintf(ballot, sizeof ballot, " %u", step->ballot);
    if (step->proposer != 0)
        snprintf(proposer, sizeof proposer, " p%u", step->proposer);
    if (step->acceptor != 0)
        snprintf(acceptor, sizeof acceptor, " a%u", step->acceptor);
    snprintf(ret_text, LH_CONFORM_TEXT,
             "%s%s%s%s%s: ", step->kind == LH_ACT_INIT ? "state" : lh_action_name(step->kind),
             ballot, proposer, acceptor, step->refused ? " (refused in the model)" : "");
}

bool lh_conform_fail(struct lh_conform *conform, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (conform->fault.text[0] == '\0') {
        name_step(&conform->step, conform->fault.text);
        const size_t used = strlen(conform->fault.text);
        vsnprintf(conform->fault.text + used, sizeof conform->fault.text - used, format, arguments);
    }
    va_end(arguments);
    return false;
}

// Rows are bytes, in the order of these names.
static bool same_row(struct lh_conform *conform, const char *const *names, const void *model,
                     const void *code, size_t count)
{
    const uint8_t *left = model;
    const uint8_t *right = code;
    for (size_t i = 0; i < count; i++) {
        if (left[i] == right[i])
            continue;
        if (right[i] == LH_CONFORM_STRANGE)
            return lh_conform_fail(conform, "%s is %u in the model, nothing like it in the code",
                                   names[i], left[i]);
        return lh_conform_fail(conform, "%s is %u in the model, %u in the code", names[i], left[i],
                               right[i]);
    }
    return true;
}

bool lh_conform_same_proposer(struct lh_conform *conform, const struct lh_conform_proposer *model,
                              const struct lh_conform_proposer *code)
{
    static const char *const names[sizeof *model] = {"phase", "ballot",   "base", "td",    "n",
                                                     "open",  "accepted", "held", "token", "until"};
    return same_row(conform, names, model, code, sizeof *model);
}

bool lh_conform_same_acceptor(struct lh_conform *conform, const struct lh_conform_acceptor *model,
                              const struct lh_conform_acceptor *code)
{
    static const char *const names[sizeof *model] = {"promised", "ballot", "deadline", "n",
                                                     "touched"};
    return same_row(conform, names, model, code, sizeof *model);
}

static struct lh_conform_answer ask_gate(struct lh_conform *conform,
                                         const struct lh_conform_place *place, uint8_t from,
                                         uint8_t quarantine,
                                         const struct lh_conform_delivery *delivery,
                                         struct lh_conform_acceptor *record)
{
    return lh_conform_gate_deliver(conform->gate, place, record, quarantine, from, delivery);
}

// P6: from anybody but its owner a ballot is not even heard.
static bool gate_knows_owner(struct lh_conform *conform, const struct lh_conform_place *place,
                             const struct lh_conform_acceptor *before,
                             const struct lh_conform_delivery *delivery)
{
    struct lh_conform_acceptor record = *before;
    const uint8_t other = place->owners[delivery->ballot] == 1 ? 2 : 1;
    if (ask_gate(conform, place, other, 0, delivery, &record).verdict != LH_CONFORM_SILENT)
        return lh_conform_fail(conform, "P6: another node is answered");
    return lh_conform_same_acceptor(conform, before, &record);
}

bool lh_conform_gate_agrees(struct lh_conform *conform, const struct lh_conform_place *place,
                            const struct lh_conform_acceptor *before, uint8_t quarantine,
                            const struct lh_conform_delivery *delivery,
                            const struct lh_conform_acceptor *after,
                            struct lh_conform_answer answer)
{
    struct lh_conform_acceptor record = *before;
    const struct lh_conform_answer told =
        ask_gate(conform, place, place->owners[delivery->ballot], quarantine, delivery, &record);
    if (told.verdict != answer.verdict)
        return lh_conform_fail(conform, "A4: the machine %s",
                               told.verdict == LH_CONFORM_SILENT    ? "is silent"
                               : told.verdict == LH_CONFORM_DROPPED ? "hears nothing"
                                                                    : "answers");
    if (answer.verdict == LH_CONFORM_PROMISED &&
        (told.reported != answer.reported || told.ends != answer.ends))
        return lh_conform_fail(conform, "the machine's promise reports %u", told.reported);
    if (answer.verdict == LH_CONFORM_REJECTED && told.promised != answer.promised)
        return lh_conform_fail(conform, "the machine rejects with %u, not %u", told.promised,
                               answer.promised);
    if (after->deadline != 0 && record.deadline != 0) // its exclusion is a little longer (T2)
        record.deadline = after->deadline;
    return lh_conform_same_acceptor(conform, after, &record) &&
           (place->last || gate_knows_owner(conform, place, before, delivery));
}
