// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore
internal import NIOHTTP1

/// What a relay looks like from here: the way that a ceremony takes, up to the relay's answer about a tunnel that nobody
/// has.
public struct RelayProbe: Sendable {
    /// How it ended.
    public enum Ending: Equatable, Sendable {
        /// It answered, with this HTTP status; 404 is the right one.
        case answered(status: Int)
        /// It was not reached, or not as it should be.
        case failed(TunnelError)
    }

    /// One of the hosts that were asked.
    public struct Host: Sendable {
        /// Host and port of the proxy on the way to it.
        public let proxy: String?
        /// What its name has for addresses; the proxy's where there is one.
        public let addresses: [String]
        /// What was shown in the TLS handshake.
        public let certificate: PresentedCertificate?
        /// The time it says it is, in seconds since 1970.
        public let date: Int?
    }

    /// How it ended.
    public let ending: Ending
    /// The relay, and where it sent to.
    public let hosts: [Host]
    /// Where the relay sent to.
    public let redirects: [RedirectStep]

    /// Asks a relay for a tunnel that does not exist; no token is sent.
    ///
    /// Where that is not done by `end`, the relay is one that timed out in the step that it had come to.
    ///
    /// - Throws: `CancellationError`.
    public static func run(at location: RelayEndpoint, until end: ContinuousClock.Instant) async throws -> RelayProbe {
        try await withThrowingTaskGroup(of: RelayProbe?.self) { group in
            group.addTask { await ask(location) }
            group.addTask {
                try await Task.sleep(until: end)
                return nil
            }
            defer { group.cancelAll() }
            while let ended = try await group.next() {
                try Task.checkCancellation()
                if let probe = ended { return probe }
                // Its time is over; it says how far it has come.
                group.cancelAll()
            }
            throw CancellationError()
        }
    }

    /// Asks it; a task that is cancelled is one whose time is over.
    private static func ask(_ location: RelayEndpoint) async -> RelayProbe {
        let steps = AwaitableState<[RedirectStep]>([])
        let unknown = (0..<TunnelID.length).map { _ in UInt8.random(in: 0...255) }
        guard let tunnel = TunnelID(bytes: unknown) else { preconditionFailure("so many bytes are an ID") }
        let path = TunnelPath.connect(RoutingID(node: .random(in: 0...UInt16.max), check: .random(in: 0...255)), tunnel)
        let opening = TunnelOpening(location: location, path: path, bearerToken: nil) { step in
            steps.change { $0.append(step) }
        }
        var facts: [HopDiagnostics] = []
        let ending: Ending
        do {
            let opened = try await opening.open { facts.append($0) }
            opened.channel.close(promise: nil)
            ending = .answered(status: 101)
        } catch let error as TunnelError {
            ending = Self.ending(error, facts.last?.answer)
        } catch {
            let host = steps.read { $0 }.last?.to ?? location.domain.host
            ending = .failed(Self.timedOut(at: location.name(of: host), facts.last))
        }
        return RelayProbe(ending: ending, hosts: facts.map(Host.init), redirects: steps.read { $0 })
    }

    /// The step in which the time was over, by what had been learnt of the host.
    private static func timedOut(at host: String, _ facts: HopDiagnostics?) -> TunnelError {
        guard let facts, facts.peer != nil else {
            return facts?.proxy.map(TunnelError.proxySilent) ?? .timedOut(host: host, .connecting)
        }
        return .timedOut(host: host, facts.certificate == nil ? .securing : .upgrading)
    }

    /// An answer that is no redirection is one, whatever it says about the tunnel.
    private static func ending(_ error: TunnelError, _ answer: HTTPResponseHead?) -> Ending {
        switch error {
        case .tunnelNotFound, .notAuthorised, .relayBusy, .refused:
            answer.map { Ending.answered(status: Int($0.status.code)) } ?? .failed(error)
        default: .failed(error)
        }
    }
}

extension RelayProbe.Host {
    fileprivate init(_ facts: HopDiagnostics) {
        proxy = facts.proxy
        addresses = facts.addresses.compactMap(\.ipAddress)
        certificate = facts.certificate
        date = facts.answer.flatMap { $0.headers["Date"].first }.flatMap(HTTPDate.seconds)
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7); the older forms are not read.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; `nil` if the text has another form.
    static func seconds(_ text: String) -> Int? {
        guard text.utf8.count == 29 else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])),
            let day = number(words[1], 2, 1...31), let year = number(words[3], 4, 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 2, 0...23), let minute = number(clock[1], 2, 0...59),
            let second = number(clock[2], 2, 0...60)
        else { return nil }
        // Days since 1970, with years that begin in March, so that the leap day is the last.
        let shifted = month < 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ text: Substring, _ digits: Int, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text)
        else {
            return nil
        }
        return range.contains(value) ? value : nil
    }
}
