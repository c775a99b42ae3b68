// What the exit code of leasehold says. Everything that is not here is the code of the wrapped
// command.
#ifndef LH_CLI_EXIT_H
#define LH_CLI_EXIT_H

enum lh_exit {
    LH_EXIT_OK = 0,
    LH_EXIT_FAILED = 1,        // a check found something, a demo broke, a file could not be written
    LH_EXIT_USAGE = 64,        // the command line is wrong, or a daemon refused what it asked for
    LH_EXIT_NO_QUORUM = 69,    // no daemon, or no majority behind it, answered in time
    LH_EXIT_NOT_ACQUIRED = 75, // somebody else holds it
    LH_EXIT_LOST = 76,         // the lease was lost; under `run`: while the command ran
    LH_EXIT_INTERNAL = 125,    // `run` itself failed, as timeout(1)
    LH_EXIT_NOT_EXECUTABLE = 126, // the command was found but could not be started
    LH_EXIT_NOT_FOUND = 127,      // there is no such command
    LH_EXIT_SIGNAL = 128,         // + the number of the signal that ended the command
};

#endif
