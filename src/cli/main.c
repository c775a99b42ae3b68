// The program leasehold. Everything is in cli.c, so that tests can call it.
#include "cli/command.h"

#ifndef LH_VERSION
#define LH_VERSION "unknown"
#endif

int main(int argc, char **argv)
{
    return lh_cli_main(LH_VERSION, argc, argv);
}
