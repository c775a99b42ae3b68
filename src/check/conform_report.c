// What a comparison found, in words and as JSON.
#include "check/conform.h"

void lh_conform_print(const struct lh_conform_counts *counts, FILE *out)
{
    const char *before = "; differs on purpose: ";
    fprintf(out, "  the shipped code made %llu steps of the model and %llu that it refuses",
            (unsigned long long)counts->steps, (unsigned long long)counts->refusals);
    for (uint32_t i = 0; i < LH_CONFORM_DIFFERENCES; i++) {
        if (counts->differences[i] == 0)
            continue;
        fprintf(out, "%s%s %llu", before, lh_conform_difference_name(i),
                (unsigned long long)counts->differences[i]);
        before = ", ";
    }
    fprintf(out, "\n");
}

void lh_conform_print_json(const struct lh_conform_counts *counts, const char *fault, FILE *out)
{
    fprintf(out, ",\"conform\":{\"steps\":%llu,\"refusals\":%llu",
            (unsigned long long)counts->steps, (unsigned long long)counts->refusals);
    for (uint32_t i = 0; i < LH_CONFORM_DIFFERENCES; i++)
        fprintf(out, ",\"%s\":%llu", lh_conform_difference_name(i),
                (unsigned long long)counts->differences[i]);
    if (fault[0] == '\0')
        fprintf(out, ",\"fault\":null}");
    else
        fprintf(out, ",\"fault\":\"%s\"}", fault); // names of ours: nothing to escape
}
