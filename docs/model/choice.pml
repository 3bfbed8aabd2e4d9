// SPDX-License-Identifier: Apache-2.0
// Contacts and clients in two regions, each with two nodes: deploy/haproxy/haproxy.cfg, and ContactPeeks in the nodes.
//
// A contact ID has an order of regions and, in each region, an order of nodes. Here it is 0, 1; other orders are the same
// with other numbers. A phone listens at one node, or at none, and connects where balancers send it at that time. Nodes
// fail and return, and balancers notice that later. A client contacts the phone: its balancer makes three attempts, each
// with the next region; the balancer of that region makes two, each with the next node. A node that the phone does not
// listen at answers at once as often as the balancer says, and holds the contact after that.
//
// A second client connects with a routing ID, and the maps of balancers may be wrong.

#define NODES 4
#define NONE 4
#define REGION(node) ((node) / 2)
#define USABLE(r) (isSeen[2 * (r)] || isSeen[2 * (r) + 1])
#define BOTH(r) (isSeen[2 * (r)] && isSeen[2 * (r) + 1])

mtype = {
    unanswered, woken, notHere, missed,             // responses: none yet, 101, 504, and 404 after 8 seconds
    unreachable, failed                             // no connection to the node, and a connection that broke: 502
};

bool isUp[NODES] = true;
bool isSeen[NODES] = true;                          // the balancers' view of the nodes
byte place = NONE;                                  // the node at which the phone listens
byte peeks[NODES];                                  // answers 504 of a node for the contact
byte events, moves;                                 // bounds of what happens

bool hasBegun, isOver;                              // the contact
bool isQuiet = true;                                // nothing has happened since it began, and nothing was unnoticed
bool isHeld;                                        // a node holds it
byte heldAt = NONE;
byte wakeUps;                                       // wake-ups of the contact that nodes have sent
mtype answer = unanswered;
mtype outcome = unanswered;

byte hops;                                          // links that the other client's request has passed
bool isConnected;                                   // it has an answer

inline disturb() { if :: hasBegun && !isOver -> isQuiet = false :: else fi }

// MARK: The phone

// The node to which balancers send a phone that connects.
inline choose(node) {
    if
    :: isSeen[0] -> node = 0
    :: !isSeen[0] && isSeen[1] -> node = 1
    :: !isSeen[0] && !isSeen[1] && isSeen[2] -> node = 2
    :: !isSeen[0] && !isSeen[1] && !isSeen[2] && isSeen[3] -> node = 3
    :: else -> node = NONE
    fi
}

active proctype phone() {
    byte target;
end_idle:
    do
    :: atomic {
        place == NONE && moves < 3 ->
        choose(target);
        if
        :: target != NONE && isUp[target] ->
            moves++;
            place = target;
            if
            :: isHeld && heldAt == place -> wakeUps++; answer = woken; isHeld = false
            :: else -> disturb()
            fi
        :: else -> moves++
        fi;
        target = NONE
    }
    // Its connection ends.
    :: atomic { place != NONE && moves < 3 -> moves++; place = NONE; disturb() }
    od
}

// MARK: Nodes and checks

active proctype network() {
end_idle:
    do
    :: atomic {
        events < 2 ->
        events++;
        disturb();
        if
        :: isUp[0] -> isUp[0] = false; if :: place == 0 -> place = NONE :: else fi
        :: isUp[1] -> isUp[1] = false; if :: place == 1 -> place = NONE :: else fi
        :: isUp[2] -> isUp[2] = false; if :: place == 2 -> place = NONE :: else fi
        :: !isUp[0] -> isUp[0] = true; peeks[0] = 0
        :: !isUp[1] -> isUp[1] = true; peeks[1] = 0
        fi;
        if
        :: isHeld && !isUp[heldAt] -> isHeld = false; answer = failed
        :: else
        fi
    }
    :: atomic { isSeen[0] != isUp[0] -> isSeen[0] = isUp[0]; disturb() }
    :: atomic { isSeen[1] != isUp[1] -> isSeen[1] = isUp[1]; disturb() }
    :: atomic { isSeen[2] != isUp[2] -> isSeen[2] = isUp[2]; disturb() }
    od
}

// MARK: A contact

// A node answers.
inline request(node, times) {
    if
    :: !isUp[node] -> answer = unreachable
    :: isUp[node] && place == node ->
        assert(wakeUps == 0);                       // No phone is woken twice by one contact.
        wakeUps++;
        if
        :: answer = woken
        // The node fails after it has woken the phone.
        :: events < 2 -> events++; isUp[node] = false; place = NONE; disturb(); answer = failed
        fi
#ifdef FLAW_HOLDS_AT_ONCE
    :: isUp[node] && place != node -> isHeld = true; heldAt = node
#else
#ifdef FLAW_NEVER_HOLDS
    :: isUp[node] && place != node -> answer = notHere
#else
    :: isUp[node] && place != node && peeks[node] < times -> peeks[node]++; answer = notHere
    :: isUp[node] && place != node && peeks[node] >= times -> isHeld = true; heldAt = node
#endif
#endif
    fi
}

// True if the other balancer's attempt, or this one's, may be repeated: the response says that no phone was woken.
#ifdef FLAW_RETRIES_FAILURES
#define REPEATED (answer == notHere || answer == failed)
#else
#define REPEATED (answer == notHere || answer == unreachable)
#endif

active proctype contacting() {
    byte attempt, region, node, times;
    atomic {
        // Any history: one node of each region may be down, and the phone may have moved anywhere.
        if :: isUp[1] = false; isSeen[1] = false :: skip fi;
        if :: isUp[3] = false; isSeen[3] = false :: skip fi;
        if
        :: isUp[0] -> place = 0
        :: isUp[1] -> place = 1
        :: isUp[2] -> place = 2
        :: isUp[3] -> place = 3
        :: place = NONE
        fi;
        hasBegun = true;
        isQuiet = isSeen[0] == isUp[0] && isSeen[1] == isUp[1] && isSeen[2] == isUp[2];
        region = (USABLE(0) -> 0 : 1)
    }
    do
    :: atomic {
        // The region's balancer, which is asked over one link, asks its first node.
        times = (BOTH(region) -> 1 : 2);
#ifdef FLAW_ONE_NODE_WAITS
        times = 1;
#endif
        node = (isSeen[2 * region] -> 2 * region : 2 * region + 1);
        request(node, times)
    }
    answer != unanswered;
    atomic {
        if
#ifndef FLAW_NO_SECOND_NODE
        :: REPEATED ->
            // Its second attempt avoids the node of the first, unless that is the only one.
            node = (BOTH(region) -> 4 * region + 1 - node : node);
            answer = unanswered;
            request(node, times)
#endif
        :: else
        fi
    }
    answer != unanswered;
    atomic {
        attempt++;
        if
        :: REPEATED && attempt < 3 ->
#ifndef FLAW_NO_SECOND_REGION
            region = (USABLE(1 - region) -> 1 - region : region);
#endif
            answer = unanswered
        :: else -> break
        fi
    }
    od;
    atomic {
        outcome = answer;
        isOver = true;
        // If nothing moved meanwhile, a phone that listens anywhere is woken.
        assert(!isQuiet || place == NONE || outcome == woken);
        // And a contact of a phone that listens nowhere has waited for it.
        assert(!isQuiet || outcome != notHere)
    }
}

// A held contact ends after 8 seconds.
active proctype clock() {
end_idle:
    do
    :: atomic { isHeld -> isHeld = false; answer = missed }
    od
}

// MARK: A client

// It may be in either region, its node may not exist, and the maps may name a wrong region.
active proctype connecting() {
    byte here, there;
    if :: here = 0 :: here = 1 fi;
    do
    :: atomic {
        // The map names the own region, the other, or none.
        if :: there = here :: there = 1 - here :: there = NONE fi;
        if
        :: there == here || there == NONE -> isConnected = true; break
        :: else ->
            hops++;
            assert(hops <= 1);                      // At most one link, whatever the maps say.
            here = there;
#ifndef FLAW_LINK_FORWARDS
            isConnected = true;
            break
#endif
        fi
    }
    od
}

// MARK: Properties

ltl contactEnds { <> isOver }
ltl clientEnds { <> isConnected }

// A phone that arrives where the contact is held is woken.
ltl heldIsWoken { [] ((isHeld && place == heldAt) -> <> (wakeUps == 1)) }
