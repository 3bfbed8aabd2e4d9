// SPDX-License-Identifier: Apache-2.0
// The life cycle of a tunnel in the relay: TunnelTable, RelayConnection and RelayServer.
//
// Two phones open the same tunnel ID, as a phone does that lost its network connection and returns, and a client joins
// one of them. One tunnel may wait under a tunnel ID, so the second supersedes the first. Each end may do anything
// once, at any time, or stay silent forever. Close instructions reach their connection through a mailbox, that is,
// later. With weak fairness, which pan -f assumes, a timer expires unless its state ends first.
//
// The names of phases and functions are those of the code. `unopened` is a tunnel or a connection before it begins.

#define TUNNELS 2
#define ENDS 3
#define PHONE(tunnel) (2 * (tunnel))
#define CLIENT(tunnel) (2 * (tunnel) + 1)
#define WAITING_PER_TUNNEL_ID 1

mtype = {
    unopened,                           // before the first event
    waiting, paired, closing, removed,  // TunnelTable.Phase; a removed tunnel has no entry
    head, moving, closed,               // further phases of RelayConnection
    ready, draining, stopped            // RelayHealth
};

typedef Tunnel {
    mtype phase = unopened;
    bool hasPhone, hasClient;
    byte ends                           // how often `end` has begun the phase `closing`; must be once
};

Tunnel tunnels[TUNNELS];
mtype connections[ENDS] = unopened;
bool instructed[ENDS];                  // a close instruction is in the mailbox
byte waitingCount;
byte count;                             // tunnels that are waiting, paired or closing
byte sockets;                           // connections that are not closed
mtype health = ready;
bool isShutDown;

// MARK: TunnelTable

inline stopWaiting() {
    assert(waitingCount > 0);
    waitingCount--
}

inline instruct(member) {
    assert(!instructed[member]);
    instructed[member] = true
}

inline end(one) {
    if
    :: tunnels[one].phase == waiting || tunnels[one].phase == paired ->
        if
#ifndef FLAW_STILL_COUNTED
        :: tunnels[one].phase == waiting -> stopWaiting()
#endif
        :: else
        fi;
        tunnels[one].phase = closing;
        tunnels[one].ends++;
        assert(tunnels[one].ends == 1 && waitingCount == (tunnels[0].phase == waiting) + (tunnels[1].phase == waiting));
        if
        :: tunnels[one].hasPhone -> instruct(PHONE(one))
        :: else
        fi;
        if
        :: tunnels[one].hasClient -> instruct(CLIENT(one))
        :: else
        fi
    :: else
    fi
}

inline open(new) {
    if
    :: waitingCount >= WAITING_PER_TUNNEL_ID -> end(1 - new)
    :: else
    fi;
    tunnels[new].phase = waiting;
    tunnels[new].hasPhone = true;
    waitingCount++;
    count++
}

inline join(t) {
    stopWaiting();
    tunnels[t].hasClient = true;
    tunnels[t].phase = paired
}

inline leave(c) {
    if
    :: c % 2 == 0 -> tunnels[c / 2].hasPhone = false
    :: else -> tunnels[c / 2].hasClient = false
    fi;
#ifdef FLAW_PEER_STAYS
    if
    :: tunnels[c / 2].phase == paired
    :: else -> end(c / 2)
    fi;
#else
    end(c / 2);
#endif
    if
    :: tunnels[c / 2].phase == closing && !tunnels[c / 2].hasPhone && !tunnels[c / 2].hasClient ->
        tunnels[c / 2].phase = removed;
        count--
    :: else
    fi
}

// MARK: RelayConnection

#define isOpen(c) (connections[c] == waiting || connections[c] == paired)
#define hasTunnel(c) ((c % 2 == 0 && tunnels[c / 2].hasPhone) || (c % 2 == 1 && tunnels[c / 2].hasClient))

// Closes the socket and leaves the tunnel.
inline close(c) {
    if
    :: connections[c] == closed
    :: else ->
        connections[c] = closed;
        sockets--;
        if
        :: hasTunnel(c) -> leave(c)
        :: else
        fi
    fi
}

// Handles a request of the phone; a refusal is a connection that is closing.
proctype phone(byte t) {
    atomic {
        if
        :: isShutDown -> goto done          // The relay no longer listens.
        :: else -> connections[PHONE(t)] = head; sockets++
        fi
    }
    atomic {
        if
        :: connections[PHONE(t)] != head    // Closed by a deadline or the shutdown.
        :: connections[PHONE(t)] == head && health == ready -> open(t); connections[PHONE(t)] = waiting
        :: connections[PHONE(t)] == head && health != ready -> connections[PHONE(t)] = closing
        :: connections[PHONE(t)] == head -> goto silent
        fi
    }
    if
    :: atomic { isOpen(PHONE(t)) -> end(t) }                                // A close frame.
    :: atomic { connections[PHONE(t)] != closed -> close(PHONE(t)) }        // The connection breaks.
    :: skip                                                                 // Silence.
    fi;
silent:
done:
    skip
}

proctype client(byte t) {
    atomic {
        if
        :: isShutDown -> goto done
        :: else -> connections[CLIENT(t)] = head; sockets++
        fi
    }
    // The phone's event loop may be another one: look, move there, join.
    atomic {
        if
        :: connections[CLIENT(t)] != head -> goto done
        :: connections[CLIENT(t)] == head && tunnels[t].phase == waiting -> connections[CLIENT(t)] = moving
        :: connections[CLIENT(t)] == head && tunnels[t].phase != waiting ->
            connections[CLIENT(t)] = closing;
            goto done
        :: connections[CLIENT(t)] == head -> goto silent
        fi
    }
    atomic {
        if
        :: connections[CLIENT(t)] != moving -> goto done
        :: connections[CLIENT(t)] == moving && tunnels[t].phase == waiting ->
            join(t);
            connections[CLIENT(t)] = paired;
            connections[PHONE(t)] = (connections[PHONE(t)] == waiting -> paired : connections[PHONE(t)])
        :: connections[CLIENT(t)] == moving && tunnels[t].phase != waiting ->
            connections[CLIENT(t)] = closing;
            goto done
        fi
    }
    if
    :: atomic { isOpen(CLIENT(t)) -> end(t) }
    :: atomic { connections[CLIENT(t)] != closed -> close(CLIENT(t)) }
    :: skip
    fi;
silent:
done:
    skip
}

inline pick(c, condition0, condition1, condition2) {
    if
    :: condition0 -> c = 0
    :: condition1 -> c = 1
    :: condition2 -> c = 2
    fi
}

// What the relay does by itself. Each event happens a limited number of times, so none keeps another from happening.
active proctype eventLoop() {
    byte c;
end_idle:
    do
    // A close instruction leaves the mailbox.
    :: atomic {
        instructed[0] || instructed[1] || instructed[2] ->
        pick(c, instructed[0], instructed[1], instructed[2]);
        instructed[c] = false;
        if
        :: isOpen(c) -> connections[c] = closing
        :: else
        fi
    }
    // `limits.headTime`: the request is refused.
    :: atomic {
        connections[0] == head || connections[1] == head || connections[2] == head ->
        pick(c, connections[0] == head, connections[1] == head, connections[2] == head);
        connections[c] = closing
    }
#ifndef FLAW_NO_CLOSE_TIMEOUT
    // `limits.closeTimeout`: a peer need not answer a close frame.
    :: atomic {
        connections[0] == closing || connections[1] == closing || connections[2] == closing ->
        pick(c, connections[0] == closing, connections[1] == closing, connections[2] == closing);
        close(c)
    }
#endif
    // The sweep: `limits.waiting`, `limits.idle` and `limits.lifetime`.
#ifndef FLAW_WAITS_FOREVER
    :: atomic { tunnels[0].phase == waiting -> end(0) }
    :: atomic { tunnels[1].phase == waiting -> end(1) }
#endif
    :: atomic { tunnels[0].phase == paired -> end(0) }
    od
}

// MARK: RelayServer

active proctype server() {
    byte c;
    // The operator may never stop the relay.
    if
    :: skip
    :: goto running
    fi;
    health = draining;
    // The last tunnel has ended, or the grace period has: in both cases, this may be at any time.
    isShutDown = true;
    c = 0;
    do
    :: c < ENDS ->
        atomic {
            if
            :: isOpen(c) -> end(c / 2)
            :: connections[c] == head || connections[c] == moving -> close(c)
            :: else
            fi;
            c++
        }
    :: else -> break
    od;
#ifndef FLAW_STOPS_EARLY
    sockets == 0;
#endif
    health = stopped;
    assert(count == 0 && waitingCount == 0);
running:
    skip
}

init {
    atomic {
        run phone(0);
        run client(0);
        run phone(1)
    }
}

// MARK: Properties

// No state without an exit.
ltl waitingEnds { [] (tunnels[0].phase == waiting -> <> (tunnels[0].phase != waiting)) }
ltl pairedEnds { [] (tunnels[0].phase == paired -> <> (tunnels[0].phase != paired)) }
ltl closingEnds { [] (tunnels[0].phase == closing -> <> (tunnels[0].phase == removed)) }

// Every socket is closed, whatever its peer does.
ltl socketsClose { [] (sockets > 0 -> <> (sockets == 0)) }

// A drain ends, and nothing is left.
ltl drainEnds { [] (health == draining -> <> (health == stopped)) }
