// SPDX-License-Identifier: Apache-2.0
// Wake-ups of a linked phone: the computer's counter, and the checks of the phone's WakeUpHandler.
//
// A computer makes requests, and a relay delivers them to the phone as wake-ups. A hostile relay may withhold them,
// deliver them late, repeatedly or in a different order, change them, and invent more. A push server may do the same.
// The relay may become honest at any time; from then on it delivers each new request in time. Computer and phone may
// restart at any time, and keep only what they have stored. The phone handles a wake-up in one step, up to the
// question, as its actor does. With weak fairness, which pan -f assumes, an honest relay does not pause forever.
//
// The relay's own rules are in contact.pml and push.pml. Simplified here:
//
//   - The rate limit may refuse any wake-up of an honest relay. A hostile one need not deliver what would be refused.
//   - Both clocks agree. If the computer's clock is ahead, a question may come later by that difference.
//   - Connections do not end after many unproved wake-ups. An honest relay sends none.
//   - The phone's memory of tunnels is left out. It only repeats responses.
//
// The constants are smaller than those of the code. The results carry over because the rules only compare: a counter
// with the highest one and the window's edge, and an age with the limit.
//
//   WINDOW    3, not 64: the highest counter, one inside, and one at the edge.
//   COUNTERS  4: enough to push a request out of the window, and to decline three requests of one class and one of the
//             other. A second question, a lost request or a mute needs no more.
//   LIMIT     2 ticks, not 10 minutes: ages inside, at the limit, and beyond it, which are all the same. Declines count
//             for as long.
//
// The properties also hold with WINDOW 2, with LIMIT 3, and with COUNTERS 5 and 6.
//
// No wake-up is lost unless WINDOW newer requests overtake it. A relay allows 6 contacts a minute and 3 more at once,
// and ends each after 2 minutes, so at most 15 of 64 can.

#define COUNTERS 4
#define WINDOW 3
#define LIMIT 2
#define NONE 0                          // no question is open; the first counter is 1

// The class of a request, which the proof covers.
#define OWN 0                           // made by the user's own programs
#define CAUSED 1                        // caused by a web page or a forwarded host

// The ages of the last two declines in ticks; LIMIT if there is none, or if it is that old.
typedef Declines {
    byte last = LIMIT;
    byte lastButOne = LIMIT
};

// The computer. Only the counter is stored; requests have the counters from 1 up to it.
byte counter;
bool class[COUNTERS + 1];
byte age[COUNTERS + 1];                 // in ticks; LIMIT + 1 for all that are too old

// The relay.
bool isHonest;
bool isPending[COUNTERS + 1];           // an honest relay has to deliver this request
bool isCut;                             // a connection broke before the phone could decline on it

// The phone. All but the question is stored.
byte highest;
bool isCounted[COUNTERS + 1];           // the window; false for counters below it
Declines declines[2];                   // by class
bool isMuted[2];
byte question = NONE;                   // the counter of the open question
bool questionClass;

// The user's view, for the properties. The devices do not depend on it.
bool isAsked[COUNTERS + 1];             // the phone has asked about this request
Declines made[2];
bool areThree[2];                       // the user has declined three requests of this class within the limit

// Used only within a step.
hidden byte i;
hidden byte isRefused;                  // the phone declines the wake-up without a question

// MARK: The phone

// Adds a decline to a list; the third one within the limit sets a flag.
inline add(list, flag) {
    if
    :: list.lastButOne < LIMIT -> flag = true; list.last = LIMIT; list.lastButOne = LIMIT
    :: else -> list.lastButOne = list.last; list.last = 0
    fi
}

#ifdef FLAW_ONE_MUTE
#define muteOf(c) OWN
#else
#define muteOf(c) c
#endif

inline recordDecline(c) {
    if
    :: isMuted[muteOf(c)]
    :: else -> add(declines[muteOf(c)], isMuted[muteOf(c)])
    fi
}

// Drops a wake-up without a question and without a response.
inline drop(c) {
#ifdef FLAW_DROPPED_COUNTS_AS_DECLINED
    recordDecline(c)
#else
    skip
#endif
}

#if defined(FLAW_NO_PROOF)
#define isProved(r, c, a) true
#elif defined(FLAW_CLASS_NOT_PROVED)
#define isProved(r, c, a) (r <= counter && a == age[r])
#elif defined(FLAW_TIME_NOT_PROVED)
#define isProved(r, c, a) (r <= counter && c == class[r])
#else
#define isProved(r, c, a) (r <= counter && c == class[r] && a == age[r])
#endif

#ifdef FLAW_NO_TIME_CHECK
#define isInTime(a) true
#else
#define isInTime(a) (a <= LIMIT)
#endif

#if defined(FLAW_NO_COUNTER_CHECK)
#define isNew(r) true
#elif defined(FLAW_RING)
byte ring[WINDOW];                      // the last counters, oldest first
#define isNew(r) (ring[0] != r && ring[1] != r && ring[2] != r)
#elif defined(FLAW_NO_WINDOW)
#define isNew(r) (r > highest)
#else
#define isNew(r) (r + WINDOW > highest && !isCounted[r])
#endif

inline storeCounter(r) {
#ifdef FLAW_RING
    ring[0] = ring[1];
    ring[1] = ring[2];
    ring[2] = r;
#endif
    highest = (r > highest -> r : highest);
    isCounted[r] = true;
    for (i : 1 .. COUNTERS) {
        isCounted[i] = isCounted[i] && i + WINDOW > highest
    }
}

inline ask(r, c) {
    // The computer has made the request, it is in time, and this is its only question.
    assert(r <= counter && age[r] <= LIMIT && !isAsked[r]);
    isAsked[r] = true;
    question = r;
    questionClass = c
}

// A wake-up arrives that states the counter r, the class c and the age a.
inline arrive(r, c, a, isWithinRate) {
    isRefused = false;
#ifdef FLAW_STORED_BEFORE_PROOF
    storeCounter(r);
#endif
    if
    :: !isProved(r, c, a) || !isInTime(a) -> drop(c)
    :: isProved(r, c, a) && isInTime(a) && !isNew(r) ->
        // No wake-up is lost: its question was asked, or as many requests as the window holds have overtaken it.
        assert(isAsked[r] || r + WINDOW <= counter);
        drop(c)
    :: isProved(r, c, a) && isInTime(a) && isNew(r) ->
#ifdef FLAW_STORED_BEFORE_CHECKS
        storeCounter(r);
#endif
        if
        :: isWithinRate && !isMuted[muteOf(c)] && question == NONE ->
#ifndef FLAW_STORED_AFTER_ANSWER
            storeCounter(r);
#endif
            ask(r, c)
#ifndef FLAW_REFUSED_WITHOUT_RESPONSE
        :: else -> isRefused = true
#else
        :: else
#endif
        fi
    fi
}

// Makes requests equal that can have no effect: those that are too old, and those that an honest relay has delivered.
inline forget() {
    for (i : 1 .. COUNTERS) {
        if
        :: i <= counter && i != question && (age[i] > LIMIT || isHonest && !isPending[i]) ->
            age[i] = LIMIT + 1;
            class[i] = OWN;
            isAsked[i] = false
        :: else
        fi
    }
    i = 0                               // spin allows no loop at the end of a step
}

inline close() {
    question = NONE;
    questionClass = OWN;
    forget()
}

active proctype phone() {
end_idle:
    do
    // The user declines.
    :: d_step {
        question != NONE ->
        add(made[class[question]], areThree[class[question]]);
        recordDecline(questionClass);
#ifdef FLAW_STORED_AFTER_ANSWER
        storeCounter(question);
#endif
        close()
    }
    // The user taps, closes the question or does not answer, or the phone restarts.
    :: d_step {
        question != NONE ->
#ifdef FLAW_UNANSWERED_COUNTS_AS_DECLINED
        recordDecline(questionClass);
#endif
        close()
    }
    od
}

// MARK: The computer

// An honest relay does not accept so many requests that they could overtake one that is pending.
#define isAccepted (counter < COUNTERS && (counter < WINDOW || !isPending[counter + 1 - WINDOW]))

inline request(c) {
    counter++;
    class[counter] = c;
    age[counter] = 0;
    isAsked[counter] = false;
    isPending[counter] = isHonest
}

active proctype computer() {
end_idle:
    do
    :: d_step { isAccepted -> request(OWN) }
    // The classes are symmetric, so the first request may belong to either.
    :: d_step { isAccepted && counter > 0 -> request(CAUSED) }
    // The computer restarts after it has stored the counter, and sends nothing.
#ifndef FLAW_SENT_BEFORE_STORED
    :: d_step { isAccepted -> request(OWN); isPending[counter] = false; forget() }
#else
    :: d_step { counter > 0 -> counter-- }
#endif
    od
}

// MARK: The relay

inline respond(r) {
    isPending[r] = isPending[r] && !isAsked[r] && !isRefused;
    forget()
}

// The relay's part in one request.
proctype relay(byte r) {
end_idle:
    do
    // A hostile relay delivers the request as it is, with the other class, or with a new time. It invents requests that
    // the computer has not made.
    :: d_step { !isHonest && r <= counter -> arrive(r, class[r], age[r], true) }
    :: d_step { !isHonest -> arrive(r, !class[r], age[r], true) }
    :: d_step { !isHonest -> arrive(r, class[r], 0, true) }
    :: d_step { !isHonest -> isHonest = true; forget() }
    // An honest relay delivers the request until the phone asks its user or declines. The rate may be exceeded.
    :: d_step { isPending[r] -> arrive(r, class[r], age[r], true); respond(r) }
    :: d_step { isPending[r] -> arrive(r, class[r], age[r], false); respond(r) }
    // The connection breaks before the phone can decline.
    :: d_step {
        isPending[r] && !isCut ->
        isCut = true;
        arrive(r, class[r], age[r], true);
        isRefused = false;
        respond(r)
    }
    od
}

init {
    atomic {
        run relay(1);
        run relay(2);
        run relay(3);
        run relay(4)
    }
}

// MARK: Time

// An honest relay delivers a request in time.
#define isDue(r) (isPending[r] && age[r] == LIMIT)

inline grow(one) {
    one = (one < LIMIT -> one + 1 : LIMIT)
}

active proctype clock() {
end_idle:
    do
    :: d_step {
        !isDue(1) && !isDue(2) && !isDue(3) && !isDue(4) ->
        for (i : 1 .. COUNTERS) {
            if
            :: i <= counter && age[i] <= LIMIT -> age[i]++
            :: else
            fi
        }
        for (i : 0 .. 1) {
            grow(made[i].last);
            grow(made[i].lastButOne);
#ifndef FLAW_DECLINES_NEVER_EXPIRE
            grow(declines[i].last);
            grow(declines[i].lastButOne)
#endif
        }
        forget()
    }
    od
}

// MARK: Properties

#define isAnyPending (isPending[1] || isPending[2] || isPending[3] || isPending[4])

// A class is muted exactly if the user has declined three of its requests within the limit. So neither dropped wake-ups
// nor requests of the other class count. The three differ, because there is only one question about each.
ltl threeDeclinesMute { [] (isMuted[OWN] == areThree[OWN] && isMuted[CAUSED] == areThree[CAUSED]) }

// With an honest relay, every request leads to a question, or is declined so that the computer shows its code at once.
ltl pendingEnds { [] (isAnyPending -> <> !isAnyPending) }
