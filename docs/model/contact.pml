// SPDX-License-Identifier: Apache-2.0
// The life cycle of a contact in the relay: ContactTable and its connections.
//
// One phone listens with two connections, one after the other or both at once, and a client contacts it. Each may stop
// or disconnect at any time, or stay silent forever. The phone may revoke its contact ID, and the operator may drain
// the relay. An event of the table is one step, as under its lock. Its instructions to the client's connection go
// through that connection's mailbox, and so does the phone that joins. With weak fairness, which pan -f assumes, a
// timer expires unless its state ends first.
//
// The names of states and events are those of the code. `unopened` is a connection or a wake-up before it begins. The
// phone's connection to the tunnel is in tunnel.pml, and its checks of wake-ups are in wake-up.pml.

#define LISTENERS 2
#define NONE 2

mtype = {
    unopened,                                       // before the first event
    challenged, listening, closing, removed,        // listener connections
    held, ringing,                                  // the wake-up
    joined, noListener, revoked, abandoned, declined, unanswered,   // the wake-up at its end
    head, waiting, paired, closed,                  // RelayConnection.Phase of the client, and `closing`
    ready, draining, stopped,                       // RelayHealth; the wake-up may end as `draining`, too
    accept, refuse, join, close                     // messages in the client's mailbox
};

mtype listeners[LISTENERS] = unopened;
mtype wakeUp = unopened;
mtype client = unopened;
chan mailbox = [3] of { mtype };
mtype health = ready;
bool isRevoked, isShutDown;
byte sockets;                                       // connections that are not closed

byte current = NONE;                                // the table's listener of the contact ID
bool wasSent[LISTENERS];                            // the wake-up was sent to this listener
bool onTheWay[LISTENERS];                           // it has not reached the phone yet

bool isAnswered;                                    // the client has the status of its request
bool isAsked;                                       // the phone has asked its user
byte arrivedAt;                                     // the listener at which the wake-up arrived last

// MARK: ContactTable

// The invariants of the table, after each of its events.
inline check() {
    d_step {
        // The table has the only connection that listens.
        assert((listeners[0] == listening) == (current == 0));
        assert((listeners[1] == listening) == (current == 1));
        // A wake-up is held only while no listener could get it, and none is kept after a revocation.
        assert(wakeUp != held || (current == NONE && !isRevoked));
        assert(wakeUp != ringing || !isRevoked);
        // A relay that drains has no listener.
        assert(health == ready || current == NONE);
        // No wake-up is lost: it was sent to the present listener, and the phone has it or it is on the way.
        if
        :: current != NONE && wakeUp == ringing -> assert(isAsked || onTheWay[current])
        :: else
        fi
    }
}

inline wake(l) {
    // No wake-up is sent to a listener twice.
    assert(!wasSent[l]);
    wasSent[l] = true;
    onTheWay[l] = true
}

inline startClosing(l) {
    if
    :: current == l -> current = NONE
    :: else
    fi;
    listeners[l] = closing
}

// A listener has proved that the contact ID is its own.
inline listen(l) {
    if
#ifndef FLAW_OLDER_STAYS
    :: current != NONE -> listeners[current] = closing
#endif
    :: else
    fi;
    current = l;
    listeners[l] = listening;
    if
    :: wakeUp == held -> wakeUp = ringing; mailbox!accept; wake(l)
#ifndef FLAW_NOT_SENT_AGAIN
    :: wakeUp == ringing -> wake(l)
#endif
    :: else
    fi;
    check()
}

// A listener's socket has closed.
inline listenerLeft(l) {
    listeners[l] = removed;
    sockets--;
    onTheWay[l] = false;
    if
#ifdef FLAW_ANY_LISTENER_LEAVES
    :: current != NONE -> current = NONE
#else
    :: current == l -> current = NONE
#endif
    :: else
    fi;
    check()
}

// The client requests the contact.
inline contact() {
    if
    :: health != ready || isRevoked -> client = closing; isAnswered = true
    :: else ->
        if
        :: current != NONE -> wakeUp = ringing; client = waiting; isAnswered = true; wake(current)
        :: else -> wakeUp = held
        fi
    fi;
    check()
}

// Ends the wake-up; its client gets a status if it is held, and a close frame if it is ringing.
inline end(heldAs, ringingAs) {
    if
    :: wakeUp == held -> wakeUp = heldAs; mailbox!refuse
    :: wakeUp == ringing -> wakeUp = ringingAs; mailbox!close
    :: else
    fi
}

// The phone's user declined; only the listener to which the wake-up was sent may report it.
inline decline(l) {
    if
    :: current == l && wasSent[l] && wakeUp == ringing -> end(declined, declined)
    :: else
    fi;
    check()
}

inline gone(l) {
    isRevoked = true;
    startClosing(l);
#ifndef FLAW_REVOCATION_KEEPS_WAKE_UPS
    end(revoked, revoked);
#endif
    check()
}

inline clientLeft() {
    client = closed;
    sockets--;
    if
    :: wakeUp == held -> wakeUp = abandoned
    :: wakeUp == ringing -> wakeUp = unanswered
    :: else
    fi;
    check()
}

// MARK: The phone

proctype listener(byte me) {
    atomic {
        if
        :: health != ready -> goto done
        :: else -> listeners[me] = challenged; sockets++
        fi
    }
    if
    :: atomic { listeners[me] == challenged -> listen(me) }
    :: atomic { listeners[me] == challenged -> startClosing(me) }   // A wrong signature.
    :: skip                                                         // Silence.
    fi;
    if
    :: atomic { listeners[me] == listening -> gone(me) }
    :: atomic { listeners[me] != removed -> listenerLeft(me) }
    :: skip
    fi;
done:
    skip
}

inline arrive(l) {
    onTheWay[l] = false;
    arrivedAt = l;
    // The phone asks about a wake-up once, however often it arrives; see wake-up.pml.
#ifdef FLAW_ASKED_AGAIN
    assert(!isAsked);
#endif
    isAsked = true
}

// The phone reads the messages of its connections. Its user taps, declines, or does nothing.
active proctype phone() {
    bool isDecided;
end_idle:
    do
    :: atomic { onTheWay[0] -> arrive(0) }
    :: atomic { onTheWay[1] -> arrive(1) }
    :: atomic {
        isAsked && !isDecided ->
        isDecided = true;
        if
#ifdef FLAW_JOIN_OVERTAKES
        :: wakeUp == ringing -> assert(client == waiting); wakeUp = joined; client = paired
#else
        :: mailbox!join
#endif
        :: decline(arrivedAt)
        :: skip
        fi
    }
    od
}

// MARK: The client

active proctype contacting() {
    atomic {
        if
        :: isShutDown -> goto done          // The relay no longer listens.
        :: else -> client = head; sockets++; contact()
        fi
    }
    if
    :: atomic { client != closed -> clientLeft() }
    :: skip
    fi;
done:
    skip
}

inline answer(phase) {
    if
    :: client == head ->
        assert(!isAnswered);
        isAnswered = true;
        client = phase
    :: else
    fi
}

// What the relay does by itself. Each event happens a limited number of times, so none keeps another from happening.
active proctype eventLoop() {
end_idle:
    do
    // The client's connection reads its mailbox.
    :: atomic { mailbox?accept -> answer(waiting) }
    :: atomic { mailbox?refuse -> answer(closing) }
    :: atomic {
        mailbox?close ->
        if
        :: client == waiting -> client = closing
        :: else
        fi
    }
    :: atomic {
        mailbox?join ->
        if
        :: wakeUp == ringing ->
            // The client has its 101 before it hears from the phone.
            assert(isAnswered && client == waiting);
            wakeUp = joined;
            client = paired
        :: else
        fi
    }
    // A connection has 5 seconds to prove that the contact ID is its own.
    :: atomic { listeners[0] == challenged -> startClosing(0) }
    :: atomic { listeners[1] == challenged -> startClosing(1) }
#ifndef FLAW_LISTENS_FOREVER
    // A listener lives for 10 minutes at most.
    :: atomic { listeners[0] == listening -> startClosing(0); check() }
    :: atomic { listeners[1] == listening -> startClosing(1); check() }
#endif
    // `limits.closeTimeout`.
    :: atomic { listeners[0] == closing -> listenerLeft(0) }
    :: atomic { listeners[1] == closing -> listenerLeft(1) }
    :: atomic { client == closing -> clientLeft() }
#ifndef FLAW_HELD_FOREVER
    // A contact is held for 8 seconds.
    :: atomic { wakeUp == held -> end(noListener, noListener) }
#endif
    // A tunnel waits for 2 minutes, and a paired one has a maximum lifetime.
    :: atomic { wakeUp == ringing -> end(unanswered, unanswered) }
    :: atomic { client == paired -> client = closing }
    od
}

// MARK: RelayServer

inline drainListener(l) {
    if
    :: listeners[l] == challenged || listeners[l] == listening -> startClosing(l)
    :: else
    fi
}

active proctype server() {
    // The operator may never stop the relay.
    if
    :: skip
    :: goto running
    fi;
    // Listeners are closed first. A ringing wake-up may still be answered.
    atomic {
        health = draining;
#ifndef FLAW_DRAIN_KEEPS_LISTENERS
        drainListener(0);
        drainListener(1);
#endif
        if
        :: wakeUp == held -> wakeUp = draining; mailbox!refuse
        :: else
        fi;
        check()
    }
    // The last tunnel has ended, or the grace period has: in both cases, this may be at any time.
    atomic {
        isShutDown = true;
        if
        :: client == waiting || client == paired -> end(unanswered, unanswered); client = closing
        :: client == head -> clientLeft()
        :: else
        fi;
        check()
    }
    sockets == 0;
    health = stopped;
    assert(current == NONE && wakeUp != held && wakeUp != ringing);
running:
    skip
}

init {
    atomic {
        run listener(0);
        run listener(1)
    }
}

// MARK: Properties

// No state without an exit.
ltl heldEnds { [] (wakeUp == held -> <> (wakeUp != held)) }
ltl ringingEnds { [] (wakeUp == ringing -> <> (wakeUp != ringing)) }

// Every socket is closed, whatever its peer does; so every client gets its answer or has left.
ltl socketsClose { [] (sockets > 0 -> <> (sockets == 0)) }

// A drain ends, and nothing is left.
ltl drainEnds { [] (health == draining -> <> (health == stopped)) }
