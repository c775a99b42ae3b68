// See lease_table.h.
#include "cli/lease_table.h"

#include <inttypes.h>

static int64_t integer(const struct lh_resp_value *map, const char *key)
{
    int64_t number = 0;
    lh_resp_as_integer(lh_resp_get(map, key), &number);
    return number;
}

static void add_text(struct lh_table *table, const struct lh_resp_value *map, const char *key)
{
    struct lh_slice text = {NULL, 0};
    if (lh_resp_as_text(lh_resp_get(map, key), &text) && text.size_bytes > 0)
        lh_table_add(table, "%.*s", (int)text.size_bytes, (const char *)text.data);
    else
        lh_table_add(table, "-");
}

static void add_duration(struct lh_table *table, const struct lh_resp_value *map, const char *key)
{
    char text[LH_DURATION_TEXT_BYTES];
    lh_table_add(table, "%s", lh_duration_text((struct lh_duration){integer(map, key)}, text));
}

void lh_lease_table_open(struct lh_table *table)
{
    static const char *const headings[] = {"NAME", "TOKEN",   "NODE",  "LEFT",
                                           "AGE",  "RENEWED", "HOLDER"};
    lh_table_open(table, headings, sizeof headings / sizeof headings[0]);
}

void lh_lease_table_add(struct lh_table *table, const struct lh_resp_value *lease)
{
    char ago[LH_DURATION_TEXT_BYTES];
    int64_t renewals = integer(lease, "renewals");
    const char *revoked = integer(lease, "revoked") == 1 ? ", revoked" : "";
    add_text(table, lease, "name");
    lh_table_add(table, "%" PRId64, integer(lease, "token"));
    lh_table_add(table, "%" PRId64, integer(lease, "node"));
    add_duration(table, lease, "remaining-ns");
    add_duration(table, lease, "age-ns");
    if (renewals > 0)
        lh_table_add(table, "%" PRId64 "x, %s ago%s", renewals,
                     lh_duration_text((struct lh_duration){integer(lease, "renewed-ago-ns")}, ago),
                     revoked);
    else
        lh_table_add(table, "never%s", revoked);
    add_text(table, lease, "holder");
}
