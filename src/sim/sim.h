// `leasehold sim`: the command.
#ifndef LH_SIM_SIM_H
#define LH_SIM_SIM_H

// argv[0] is "sim"; the rest are its arguments. Returns the exit code: 0 clean, 3 a rule of safety
// was broken, 4 a lease was not granted in time after healing, 64 usage, 70 a run crashed.
int lh_sim_command(int argc, char **argv);

#endif
