// Whole clusters: what a client sees of leases through any node, while the referee of host_fixture.h watches.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_a_new_cluster_grants(void **state)
{
    (void)state;
    for (unsigned nodes = 1; nodes <= 7; nodes += 2) {
        struct cluster_settings settings = cluster_defaults();
        settings.nodes = nodes;
        struct cluster *cluster = cluster_open(&settings);
        assert_true(cluster_run_until_serving(cluster, nodes == 1 ? 11000 : 1000));
        unsigned client = cluster_connect(cluster, nodes - 1);
        cluster_call(cluster, client, "LEASE ACQUIRE backup HOLDER me");
        assert_string_equal(cluster_status(cluster, client), "granted");
        printf("# %u nodes: %lld ns\n", nodes,
               (long long)cluster->clients[client].reply_took);
        cluster_close(cluster);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_cluster_grants),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
