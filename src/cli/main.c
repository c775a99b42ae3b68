// The program leasehold. Everything is in cli.c, so that tests can call it.
#include "cli/command.h"

int main(int argc, char **argv)
{
    return lh_cli_main(argc, argv);
}
