// See run_pulse.h.
#include "cli/run_pulse.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define LOOK_MS 10 // at most so often

bool lh_run_pulse_open(struct lh_run_pulse *pulse, struct lh_duration counts_for)
{
    int ends[2] = {-1, -1};
    bool opened = counts_for.ns == 0 || pipe2(ends, O_CLOEXEC) == 0;
    *pulse = (struct lh_run_pulse){
        .counts_for = counts_for,
        .last = LH_PAST,
        .look_at = LH_PAST,
        .read_fd = ends[0],
        .write_fd = ends[1],
    };
    return opened && (ends[0] < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
}

void lh_run_pulse_close(struct lh_run_pulse *pulse)
{
    if (pulse->read_fd >= 0)
        close(pulse->read_fd);
    if (pulse->write_fd >= 0)
        close(pulse->write_fd);
    pulse->read_fd = pulse->write_fd = -1;
}

void lh_run_pulse_start(struct lh_run_pulse *pulse, struct lh_instant now)
{
    lh_run_pulse_look(pulse, LH_PAST); // of a command before it
    pulse->last = now;
}

void lh_run_pulse_look(struct lh_run_pulse *pulse, struct lh_instant now)
{
    char bytes[4096];
    bool beaten = false;
    if (pulse->read_fd < 0)
        return;
    for (int i = 0; i < 16 && read(pulse->read_fd, bytes, sizeof bytes) > 0; i++)
        beaten = true;
    if (!beaten)
        return;
    pulse->last = now;
    pulse->look_at = lh_after(now, lh_ms(LOOK_MS));
}

bool lh_run_pulse_beats(const struct lh_run_pulse *pulse, struct lh_instant now)
{
    return pulse->counts_for.ns == 0 || lh_before(now, lh_after(pulse->last, pulse->counts_for));
}
