// SPDX-License-Identifier: Apache-2.0

/// A queue of requests for the user, of which one is shown at a time.
///
/// Requests of this computer come before those of other hosts, which have half of the places.
///
/// It holds values only; its owner starts and ends the work.
struct SigningQueue<Element: Sendable>: Sendable {
    /// The identifier of a request in the queue.
    struct ID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// Maximum number of requests that wait behind the active one.
    static var maximumWaiting: Int { 16 }
    /// Maximum number of requests of other hosts that wait.
    static var maximumForwarded: Int { maximumWaiting / 2 }
    /// Time after which a waiting request has failed.
    static var patience: Duration { .seconds(120) }

    private struct Entry {
        let id: ID
        let element: Element
        let isForwarded: Bool
        let arrival: ContinuousClock.Instant
    }

    private var entries: [Entry] = []
    private var lastNumber: UInt64 = 0

    /// The result of adding a request.
    enum Admission: Equatable {
        /// The request is active and must be started now.
        case started(ID)
        /// The request waits.
        case waiting(ID)
        /// Too many requests wait.
        case refused
    }

    /// Adds a request: at the end, or behind the last one of this computer.
    mutating func add(
        _ element: Element,
        isForwarded: Bool = false,
        at now: ContinuousClock.Instant
    ) -> Admission {
        let waiting = entries.dropFirst()
        let forwarded = waiting.count(where: \.isForwarded)
        guard entries.count <= Self.maximumWaiting, !isForwarded || forwarded < Self.maximumForwarded else {
            return .refused
        }
        lastNumber += 1
        let id = ID(number: lastNumber)
        let entry = Entry(id: id, element: element, isForwarded: isForwarded, arrival: now)
        entries.insert(entry, at: isForwarded ? entries.endIndex : entries.endIndex - forwarded)
        return entries.count == 1 ? .started(id) : .waiting(id)
    }

    /// Removes a request whose client has left.
    ///
    /// - Returns: The request if it is active: it stays until ``finish(_:at:)`` and must be stopped.
    mutating func withdraw(_ id: ID) -> Element? {
        if let active = entries.first, active.id == id { return active.element }
        entries.removeAll { $0.id == id }
        return nil
    }

    /// Removes a request that has waited too long; returns false if it does not wait, for example because it is active.
    mutating func expire(_ id: ID) -> Bool {
        guard let index = entries.firstIndex(where: { $0.id == id }), index > 0 else { return false }
        entries.remove(at: index)
        return true
    }

    /// Ends the active request.
    ///
    /// - Returns: The requests that have waited too long, and the next request, which must be started now.
    mutating func finish(
        _ id: ID,
        at now: ContinuousClock.Instant
    ) -> (expired: [Element], next: (id: ID, element: Element)?) {
        guard entries.first?.id == id else { return ([], nil) }
        entries.removeFirst()
        let expired = entries.filter { $0.arrival.duration(to: now) > Self.patience }
        entries.removeAll { $0.arrival.duration(to: now) > Self.patience }
        return (expired.map(\.element), entries.first.map { ($0.id, $0.element) })
    }
}
