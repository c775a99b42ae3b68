// The text and JSON forms, and the choice between JSON and SVG.
#include "check/trace.h"

#include <stdlib.h>
#include <unistd.h>

#include "check/closed_model.h"
#include "check/describe.h"
#include "check/lease_model.h"
#include "check/trace_svg.h"

bool lh_trace_open(struct lh_trace *trace, const struct lh_model *model,
                   const struct lh_search_result *result)
{
    *trace = (struct lh_trace){
        .model = model,
        .invariant = result->invariant,
        .count = result->trace_states,
        .raw = aligned_alloc(64, (size_t)result->trace_states * model->layout.stride),
        .actions = calloc(result->trace_states, sizeof(struct lh_action))};
    bool opened = result->has_trace && trace->raw != NULL && trace->actions != NULL;
    for (uint32_t i = 0; i < trace->count && opened; i++)
        opened =
            lh_search_replay(model, result->choices, i,
                             trace->raw + (size_t)i * model->layout.stride, &trace->actions[i]);
    if (!opened)
        lh_trace_close(trace);
    return opened;
}

void lh_trace_close(struct lh_trace *trace)
{
    if (trace == NULL)
        return;
    free(trace->raw);
    free(trace->actions);
    trace->raw = NULL;
    trace->actions = NULL;
}

const uint8_t *lh_trace_state(const struct lh_trace *trace, uint32_t index)
{
    return trace->raw + (size_t)index * trace->model->layout.stride;
}

uint32_t lh_trace_time(const struct lh_trace *trace, uint32_t index)
{
    uint32_t ticks = 0;
    if (trace->model->config.module != LH_CHECK_CLOSED)
        return lh_trace_state(trace, index)[0]; // `now` is every other module's first variable
    for (uint32_t i = 1; i <= index; i++)
        ticks += trace->actions[i].kind == LH_ACT_TICK;
    return ticks;
}

void lh_trace_print(const struct lh_trace *trace, FILE *file)
{
    char text[LH_DESCRIPTION_SIZE];
    for (uint32_t i = 0; i < trace->count; i++) {
        const uint8_t *to = lh_trace_state(trace, i);
        const uint8_t *from = i == 0 ? to : lh_trace_state(trace, i - 1);
        lh_describe_action(trace->model, from, trace->actions[i], to, text);
        fprintf(file, "%4u  t=%u  %s\n", i + 1, lh_trace_time(trace, i), text);
        lh_describe_changes(trace->model, from, to, text);
        if (text[0] != '\0')
            fprintf(file, "              %s\n", text);
    }
}

static void write_state(const struct lh_trace *trace, const uint8_t *raw, FILE *file)
{
    char text[LH_DESCRIPTION_SIZE];
    fprintf(file, "{");
    for (uint32_t i = 0; i < trace->model->layout.variable_count; i++) {
        lh_describe_variable(trace->model, i, text, sizeof text);
        fprintf(file, "%s\"%s\":%u", i == 0 ? "" : ",", text, raw[i]);
    }
    fprintf(file, ",\"network\":[");
    if (trace->model->layout.message_count != 0) {
        const uint16_t *network = lh_layout_network_const(&trace->model->layout, raw);
        for (uint32_t i = 1; i <= network[0]; i++) {
            lh_describe_message(trace->model, network[i], text, sizeof text);
            fprintf(file, "%s\"%s\"", i == 1 ? "" : ",", text);
        }
    }
    fprintf(file, "]}");
}

static void write_constants(const struct lh_check_config *config, FILE *file)
{
    const char *name;
    char value[LH_CHECK_VALUE_SIZE];
    fprintf(file, "\"constants\":{");
    for (size_t i = 0; lh_check_config_constant(config, i, &name, value); i++)
        fprintf(file, "%s\"%s\":\"%s\"", i == 0 ? "" : ",", name, value);
    fprintf(file, "},");
}

// On the closed network, where an answer counts at once, of a request; of nobody, proposer 0, if its
// ballot is over.
static void write_closed_message(const struct lh_trace *trace, uint32_t index, FILE *file)
{
    const struct lh_action action = trace->actions[index];
    const char *kind = action.kind == LH_ACT_DELIVER_PREPARE   ? "Prepare"
                       : action.kind == LH_ACT_DELIVER_ACCEPT  ? "Accept"
                       : action.kind == LH_ACT_DELIVER_RELEASE ? "Release"
                                                               : NULL;
    if (kind == NULL)
        return;
    const uint32_t owner =
        lh_trace_state(trace, index - 1)[lh_closed_ballot(action.message, LH_CB_OWNER)];
    fprintf(file,
            "\"message\":{\"kind\":\"%s\",\"proposer\":%u,\"acceptor\":%u,\"ballot\":%u,"
            "\"reports\":0,\"until\":0},",
            kind, owner > trace->model->config.proposers ? 0 : owner, action.process + 1u,
            action.message);
}

// Of a message that is delivered or lost.
static void write_message(const struct lh_trace *trace, uint32_t index, FILE *file)
{
    static const char *const kinds[] = {"Prepare", "Promise", "Accept", "Accepted", "Release"};
    const struct lh_action action = trace->actions[index];
    const bool has_one =
        action.kind == LH_ACT_DELIVER_PREPARE || action.kind == LH_ACT_DELIVER_PROMISE ||
        action.kind == LH_ACT_DELIVER_ACCEPT || action.kind == LH_ACT_DELIVER_ACCEPTED ||
        action.kind == LH_ACT_DELIVER_RELEASE || action.kind == LH_ACT_DROP;
    if (trace->model->config.module == LH_CHECK_CLOSED)
        write_closed_message(trace, index, file);
    if (trace->model->layout.message_count == 0 || !has_one)
        return;
    const struct lh_message *m = &lh_lease_of(trace->model)->messages[action.message];
    fprintf(file,
            "\"message\":{\"kind\":\"%s\",\"proposer\":%u,\"acceptor\":%u,\"ballot\":%u,"
            "\"reports\":%u,\"until\":%u},",
            kinds[m->kind], m->proposer + 1u, m->acceptor + 1u, m->ballot, m->accepted_ballot,
            m->deadline);
}

static void write_json(const struct lh_trace *trace, FILE *file)
{
    char text[LH_DESCRIPTION_SIZE];
    fprintf(file, "{\"config\":\"%s\",\"module\":\"%s\",\"invariant\":\"%s\",\"trace_states\":%u,",
            trace->model->config.name, lh_check_module_name(trace->model->config.module),
            lh_invariant_name(trace->invariant), trace->count);
    write_constants(&trace->model->config, file);
    fprintf(file, "\"states\":[\n");
    for (uint32_t i = 0; i < trace->count; i++) {
        const uint8_t *to = lh_trace_state(trace, i);
        const struct lh_action action = trace->actions[i];
        lh_describe_action(trace->model, i == 0 ? to : lh_trace_state(trace, i - 1), action, to,
                           text);
        fprintf(file,
                "{\"number\":%u,\"time\":%u,\"action\":\"%s\",\"process\":%u,\"argument\":%u,",
                i + 1, lh_trace_time(trace, i), lh_action_name(action.kind), action.process + 1u,
                action.argument);
        write_message(trace, i, file);
        fprintf(file, "\"kept\":%s,\"text\":\"%s\",\"state\":", action.keep ? "true" : "false",
                text);
        write_state(trace, to, file);
        fprintf(file, "}%s\n", i + 1 == trace->count ? "" : ",");
    }
    fprintf(file, "]}\n");
}

bool lh_trace_write(const struct lh_trace *trace, const char *path)
{
    const char *dot = strrchr(path, '.');
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    if (dot != NULL && strcmp(dot, ".svg") == 0)
        lh_trace_draw(trace, file);
    else
        write_json(trace, file);
    const bool written = ferror(file) == 0;
    return fclose(file) == 0 && written;
}
