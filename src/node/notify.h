// The service manager's side of Type=notify-reload: sd_notify(3) as one datagram to $NOTIFY_SOCKET.
//
// Nothing here can fail the daemon: without a service manager, or with one that does not listen,
// every call does nothing. Loop thread only.
#ifndef LH_NODE_NOTIFY_H
#define LH_NODE_NOTIFY_H

#include <stdbool.h>

// Sends `state`, newline-separated assignments as in sd_notify(3). Returns true if a service
// manager took it, false if there is none or it could not be reached.
bool lh_notify(const char *state);

// READY=1: the daemon takes requests, or a reload has ended.
void lh_notify_ready(void);

// RELOADING=1 with the MONOTONIC_USEC that systemd asks for; end it with lh_notify_ready.
void lh_notify_reloading(void);

// STOPPING=1.
void lh_notify_stopping(void);

#endif
