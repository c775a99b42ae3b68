// The program leasehold. Everything is in cli.c, so that tests can call it.
#include "cli/command.h"
#include "os/file.h"

#ifndef LH_VERSION
#define LH_VERSION "unknown"
#endif

int main(int argc, char **argv)
{
    if (!lh_file_fill_standard())
        return 1; // and nowhere to say it
    return lh_cli_main(LH_VERSION, argc, argv);
}
