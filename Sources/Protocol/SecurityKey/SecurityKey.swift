// SPDX-License-Identifier: Apache-2.0

private import Crypto
public import HybridCTAP

/// A security key whose credentials are on the phone.
///
/// Programs send CTAP2 commands over CTAPHID. This state machine answers what needs no phone: the description of the
/// key, the selection of a key, and silent questions about credentials. For the rest it asks the program that uses it
/// to open a **window**, in which the user selects this key or connects the phone.
///
/// - There is at most one window at a time. A second request that needs one ends with the error "channel busy".
/// - At most three windows open in a minute. A further request ends as if its user had not responded.
/// - Each window ends with a ``SecurityKeyAction/closeWindow(_:_:)``, and its request with exactly one answer.
///
/// Times are durations since any fixed moment, from a clock that never goes back. After each call, the program calls
/// ``advance(to:)`` at ``deadline``. An idle key has no deadline.
public struct SecurityKey: Sendable {
    /// Time after which an unattended window closes, also one that reports a failure.
    public static let windowLifetime = Duration.seconds(300)

    /// The credentials of local relying parties; ``SecurityKeyAction/memoryChanged`` reports each change.
    public var memory: CredentialMemory
    /// A Boolean value that indicates whether another FIDO device is connected.
    ///
    /// If there is none, this key answers for credentials that it does not know: they may be from before the memory.
    public var otherKeyExists = true
    /// Relying parties of the agent's SSH keys, which clients of this key cannot use.
    public var agentRelyingParties: Set<RelyingPartyID> {
        get { reader.agentRelyingParties }
        set { reader.agentRelyingParties = newValue }
    }

    private var device: CTAPHIDDevice
    private var reader: KeyCommandReader
    private let installationKey: InstallationKey
    /// A key that belongs to no credential and signs the answers to probes.
    private let probeKey = P256.Signing.PrivateKey(compactRepresentable: false)
    private var answers: [ChannelID: SilentProbeAnswers] = [:]
    private var window: Window?
    private var windowLimit = WindowLimit()
    private var lastWindow = 0

    /// Creates a key without channels and windows.
    ///
    /// - Parameters:
    ///   - version: The version that clients see.
    ///   - memory: The credentials of local relying parties.
    ///   - installationKey: The secret of the memory.
    ///   - random: A source of random bytes; it returns as many as the argument says.
    public init(
        version: CTAPHIDDeviceVersion,
        memory: CredentialMemory,
        installationKey: InstallationKey,
        random: @escaping @Sendable (Int) -> [UInt8] = { (0..<$0).map { _ in UInt8.random(in: .min ... .max) } }
    ) {
        device = CTAPHIDDevice(version: version, supportsWink: false)
        reader = KeyCommandReader(random: random)
        self.memory = memory
        self.installationKey = installationKey
    }

    /// The description that clients receive.
    ///
    /// Without the limits of lists, browsers would send one credential at a time. Version 2.1 makes them use
    /// `authenticatorSelection`.
    public static let info = AuthenticatorInfo(
        versions: ["FIDO_2_0", "FIDO_2_1"],
        aaguid: .zero,
        options: ["rk": true, "up": true, "uv": true, "plat": false],
        maximumMessageSize: 7609,
        maximumCredentialCount: SilentProbe.maximumCount,
        maximumCredentialIDLength: CredentialID.maximumLength,
        transports: ["usb"],
        algorithms: [.es256]
    )

    /// The moment at which ``advance(to:)`` has something to do; `nil` if the key is idle.
    public var deadline: Duration? { [device.deadline, window?.end].compactMap(\.self).min() }

    /// Processes a report of a client.
    public mutating func receive(_ report: HIDReport, at now: Duration) -> [SecurityKeyAction] {
        let due = advance(to: now)
        return due + perform(device.receive(report, at: now), at: now)
    }

    /// Ends what has timed out, and sends the keepalives that are due.
    public mutating func advance(to now: Duration) -> [SecurityKeyAction] {
        var actions: [SecurityKeyAction] = []
        if let window, window.end <= now { actions += end(window, .userActionTimeout, at: now) }
        return actions + perform(device.advance(to: now), at: now)
    }

    /// Reports that the user has confirmed or closed a window; does nothing if it is not the open one.
    public mutating func windowEnded(
        _ id: WindowID,
        by action: WindowEnd,
        at now: Duration
    ) -> [SecurityKeyAction] {
        guard let window, window.id == id else { return [] }
        switch (window.content, action) {
        case (.presence(let status), .confirmation): return end(window, status, at: now)
        case (.notice(let status), _): return end(window, status, at: now)
        // The phone decides a request, not the button of a window.
        case (.phone, .confirmation): return []
        case (.presence, .closing), (.phone, .closing): return end(window, .keepaliveCancel, at: now)
        case (.presence, .timeout), (.phone, .timeout): return end(window, .userActionTimeout, at: now)
        }
    }

    /// Reports the end of the ceremony with the phone; does nothing if its window is not the open one.
    public mutating func phoneEnded(
        _ id: WindowID,
        with result: PhoneCeremonyOutcome,
        at now: Duration
    ) -> [SecurityKeyAction] {
        guard let window, window.id == id, case .phone(let request) = window.content else { return [] }
        switch result {
        case .failed:
            // The window reports the reason; the client must not learn of the failure before the user has seen it.
            self.window = window.showing(.notice(.userActionTimeout), at: now)
            return []
        case .responded(let response):
            switch request.outcome(of: response) {
            case .success(let response, let credential):
                // Only windows that the user did not want wear the user down.
                windowLimit.forgetLast()
                return remember(credential, of: request.relyingParty) + end(window, response, at: now)
            case .excluded:
                // The window reports that the phone already has a passkey; the user sees it before the client does.
                self.window = window.showing(.notice(.credentialExcluded), at: now)
                return []
            case .failure(let status):
                return end(window, status, at: now)
            }
        }
    }

    /// Ends the open window because the computer is about to sleep.
    public mutating func suspend(at now: Duration) -> [SecurityKeyAction] {
        guard let window else { return [] }
        return end(window, .userActionTimeout, at: now)
    }
}

// MARK: - Commands

extension SecurityKey {
    private mutating func perform(_ actions: [CTAPHIDAction], at now: Duration) -> [SecurityKeyAction] {
        var performed: [SecurityKeyAction] = []
        for action in actions {
            switch action {
            case .send(let report):
                performed.append(.send(report))
            case .request(let transaction, let command):
                performed += answer(transaction, command, at: now)
                // A client waits for a response or a keepalive; without one of them, it considers the key broken.
                performed += perform(device.advance(to: now), at: now)
            case .ended(let transaction):
                guard let window, window.transaction == transaction else { continue }
                self.window = nil
                performed.append(.closeWindow(window.id, .keepaliveCancel))
            case .wink:
                continue
            }
        }
        return performed
    }

    private mutating func answer(
        _ transaction: TransactionID,
        _ bytes: [UInt8],
        at now: Duration
    ) -> [SecurityKeyAction] {
        answers = answers.filter { device.isOpen($0.key) && now < $0.value.end }
        let previous = answers.removeValue(forKey: transaction.channel)
        do throws(CTAPRequestError) {
            switch try reader.command(bytes) {
            case .info:
                return respond(transaction, .success(Self.info.encoded), at: now)
            case .next:
                guard var previous else { throw CTAPRequestError(status: .notAllowed, field: nil) }
                let response = previous.next(at: now)
                if !previous.isEmpty { answers[transaction.channel] = previous }
                return respond(transaction, response, at: now)
            case .probe(let probe):
                return respond(transaction, first(probe, transaction.channel, at: now), at: now)
            case .presence(let status):
                return open(.presence(status), for: transaction, at: now)
            case .phone(let request):
                return open(.phone(request), for: transaction, at: now)
            }
        } catch {
            return respond(transaction, .failure(error.status), at: now)
        }
    }

    /// Returns the answer to a probe.
    ///
    /// For a domain, every credential of the list is confirmed: the phone decides later. With fewer, browsers would
    /// omit credentials from the real request, or create a second passkey for an account. For a local relying party,
    /// another key may have the credential, and ssh uses the first key that confirms it.
    private mutating func first(_ probe: SilentProbe, _ channel: ChannelID, at now: Duration) -> CTAPResponse {
        let confirmed = probe.ids.filter { id in
            probe.relyingParty.kind == .domain || !otherKeyExists
                || memory.contains(id, of: probe.relyingParty, key: installationKey)
        }
        guard !confirmed.isEmpty else { return .failure(.noCredentials) }
        var probeAnswers = SilentProbeAnswers(probe, confirming: confirmed, key: probeKey, at: now)
        let response = probeAnswers.first()
        if !probeAnswers.isEmpty { answers[channel] = probeAnswers }
        return response
    }

    private mutating func remember(_ id: CredentialID, of relyingParty: RelyingPartyID) -> [SecurityKeyAction] {
        guard relyingParty.kind != .domain else { return [] }
        return memory.note(id, of: relyingParty, key: installationKey) ? [.memoryChanged] : []
    }

    private mutating func respond(
        _ transaction: TransactionID,
        _ response: CTAPResponse,
        at now: Duration
    ) -> [SecurityKeyAction] {
        perform(device.answer(transaction, with: response), at: now)
    }
}

// MARK: - The window

extension SecurityKey {
    private mutating func open(
        _ content: Window.Content,
        for transaction: TransactionID,
        at now: Duration
    ) -> [SecurityKeyAction] {
        guard window == nil else { return perform(device.refuse(transaction, with: .channelBusy), at: now) }
        guard windowLimit.open(at: now) else { return respond(transaction, .failure(.userActionTimeout), at: now) }
        lastWindow += 1
        let id = WindowID(rawValue: lastWindow)
        window = Window(id: id, transaction: transaction, content: content, at: now)
        device.setStatus(.userPresenceNeeded, of: transaction)
        guard case .phone(let request) = content else { return [.askPresence(id)] }
        return [.askPhone(id, request, afterConfirmation: otherKeyExists, isForGuest: !isRecognized(request))]
    }

    /// Returns true if a request is for a credential of a local relying party that has been used through this key.
    ///
    /// No website can have such a relying party, and the ID of the credential is in files that sandboxed programs do not
    /// see, such as those of ssh and pam_u2f.
    private func isRecognized(_ request: PhoneRequest) -> Bool {
        let relyingParty = request.relyingParty
        guard relyingParty.kind != .domain else { return false }
        return request.allowedIDs.contains { memory.contains($0, of: relyingParty, key: installationKey) }
    }

    private mutating func end(_ window: Window, _ status: CTAPStatus, at now: Duration) -> [SecurityKeyAction] {
        end(window, CTAPResponse(status: status, body: []), at: now)
    }

    private mutating func end(_ window: Window, _ response: CTAPResponse, at now: Duration) -> [SecurityKeyAction] {
        self.window = nil
        return [.closeWindow(window.id, response.status)] + respond(window.transaction, response, at: now)
    }
}
