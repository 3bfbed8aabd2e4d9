// SPDX-License-Identifier: Apache-2.0
// The life cycle of a contact whose phone is woken through a push server: ContactTable, PushGateway and the client.
//
// A client contacts the phone. The gateway sends the wake-up to the push server, which accepts it, refuses it, or does
// not answer. It delivers the wake-up at any time after it has received it, so the phone may join before the relay
// knows the answer. The client may disconnect, and the operator may drain the relay, at any time. With weak fairness,
// which pan -f assumes, a timer expires unless its state ends first. A push server that repeats or withholds wake-ups
// is in wake-up.pml.
//
// The names of states and events are those of the code. `unopened` is a wake-up before it begins.

mtype = {
    unopened, pushing, ringing,                     // WakeUpState
    joined, undelivered, gone, unanswered,          // WakeUpOutcome
    head, waiting, paired, closing, closed,         // RelayConnection.Phase of the client
    ready, draining, stopped,                       // RelayHealth; the wake-up may end as `draining`, too
    sending, accepted, refused, failed, canceled, idle,     // the message of the gateway, and PushOutcome
    accept, refuse, join, close                     // messages in the client's mailbox
};

mtype wakeUp = unopened;
mtype message = idle;
mtype client = unopened;
mtype health = ready;
chan mailbox = [4] of { mtype };
byte sockets;                                       // connections that are not closed

bool isAnswered;                                    // the client has the status of its request
bool isOnTheWay;                                    // the push server may deliver the wake-up
bool isShutDown;

// MARK: ContactTable

inline end(pushingAs, ringingAs) {
    if
    :: wakeUp == pushing -> wakeUp = pushingAs; mailbox!refuse
    :: wakeUp == ringing -> wakeUp = ringingAs; mailbox!close
    :: else
    fi
}

// The client requests the contact, and the gateway sends the wake-up.
inline contact() {
    if
    :: health != ready -> client = closing; isAnswered = true
    :: else -> wakeUp = pushing; message = sending
    fi
}

// The gateway reports the result of the message.
inline recordPush(outcome) {
    message = outcome;
    if
    :: outcome == accepted && wakeUp == pushing -> wakeUp = ringing; mailbox!accept
    :: outcome == gone && wakeUp == pushing -> end(gone, gone)
#ifdef FLAW_REFUSAL_ENDS_JOINED
    :: outcome != accepted && wakeUp == joined -> client = closing; assert(false)
#endif
#ifndef FLAW_REFUSAL_IGNORED
    :: outcome != accepted && outcome != gone && wakeUp == pushing -> end(undelivered, undelivered)
#endif
    :: else
    fi;
    // No client is left without an answer.
    assert(wakeUp != pushing)
}

inline clientLeft() {
    client = closed;
    sockets--;
    if
    :: wakeUp == pushing || wakeUp == ringing -> wakeUp = unanswered
    :: else
    fi
}

// MARK: PushGateway and the push server

// The push server may never answer, and may deliver what it has received before it answers.
active proctype pushServer() {
    atomic { message == sending -> isOnTheWay = true };
    if
    :: atomic { message == sending -> recordPush(accepted) }
    :: atomic { message == sending -> recordPush(refused) }
    :: atomic { message == sending -> recordPush(gone) }
    :: skip
    fi
}

active proctype gateway() {
end_idle:
    do
#ifndef FLAW_NO_DEADLINE
    // The deadline of five seconds.
    :: atomic { message == sending -> recordPush(failed) }
#endif
    :: false
    od
}

// MARK: The phone

// Its user taps, or does nothing.
active proctype phone() {
end_idle:
    atomic { isOnTheWay -> isOnTheWay = false };
    if
    :: atomic {
#ifdef FLAW_JOIN_NEEDS_ANSWER
        assert(wakeUp != pushing);
#endif
        (wakeUp == pushing || wakeUp == ringing) -> mailbox!join
    }
    :: skip
    fi
}

// MARK: The client

active proctype contacting() {
    atomic {
        if
        :: isShutDown -> goto done
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

active proctype eventLoop() {
end_idle:
    do
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
        :: wakeUp == pushing || wakeUp == ringing ->
            // The phone's arrival answers a client that has no response.
            answer(waiting);
            assert(isAnswered && client == waiting);
            wakeUp = joined;
            client = paired
        :: else
        fi
    }
    // A contact is held for 8 seconds.
    :: atomic { wakeUp == pushing -> end(unanswered, unanswered) }
    // A tunnel waits for 2 minutes, and a paired one has a maximum lifetime.
    :: atomic { wakeUp == ringing -> end(unanswered, unanswered) }
    :: atomic { client == paired -> client = closing }
    // `limits.closeTimeout`.
    :: atomic { client == closing -> clientLeft() }
    od
}

// MARK: RelayServer

active proctype server() {
    // The operator may never stop the relay.
    if
    :: skip
    :: goto running
    fi;
    atomic {
        health = draining;
#ifndef FLAW_DRAIN_KEEPS_MESSAGES
        if
        :: message == sending -> recordPush(canceled)
        :: else
        fi;
#endif
        if
        :: wakeUp == pushing -> wakeUp = draining; mailbox!refuse
        :: else
        fi;
        assert(message != sending)
    }
    atomic {
        isShutDown = true;
        if
        :: client == waiting || client == paired -> end(unanswered, unanswered); client = closing
        :: client == head -> clientLeft()
        :: else
        fi
    }
    sockets == 0;
    health = stopped;
    assert(wakeUp != pushing && wakeUp != ringing && message != sending);
running:
    skip
}

// MARK: Properties

// No state without an exit.
ltl pushingEnds { [] (wakeUp == pushing -> <> (wakeUp != pushing)) }
ltl ringingEnds { [] (wakeUp == ringing -> <> (wakeUp != ringing)) }
ltl messageEnds { [] (message == sending -> <> (message != sending)) }

// Every socket is closed, whatever the push server and the phone do; so every client gets its answer or has left.
ltl socketsClose { [] (sockets > 0 -> <> (sockets == 0)) }

// A drain ends, and nothing is left.
ltl drainEnds { [] (health == draining -> <> (health == stopped)) }
