// Leases as people read them: one line each, under the same headings in `get` and `list`.
#ifndef LH_CLI_LEASE_TABLE_H
#define LH_CLI_LEASE_TABLE_H

#include "base/resp.h"
#include "cli/output.h"

void lh_lease_table_open(struct lh_table *table);
// `lease` is a map with the keys of LEASE GET and of an element of LEASE LIST.
void lh_lease_table_add(struct lh_table *table, const struct lh_resp_value *lease);

#endif
