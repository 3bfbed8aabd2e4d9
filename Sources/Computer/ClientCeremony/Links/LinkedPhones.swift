// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
package import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
package import HybridSession
package import HybridThreads

/// The linked phones that a ceremony contacts before it shows a code.
package struct LinkedPhones: Sendable {
    /// Time after which the code is offered, too, unless the phone has been found.
    package static let codeDelay = Duration.seconds(8)

    private let store: LinkStore
    /// The links to try, one after the other.
    private let links: [StoredLink]
    private let requester: Requester
    private let codeDelay: Duration
    /// True once the user wants the code at once.
    private let isCodeRequested: AwaitableState<Bool>
    private let consent: ContactConsent?

    /// Creates the phones of a ceremony; `nil` if there are none.
    ///
    /// - Parameters:
    ///   - store: The store of all links.
    ///   - links: The links to try, one after the other.
    ///   - requester: The cause of the request.
    ///   - codeDelay: Time after which the code is offered.
    ///   - isCodeRequested: Becomes true when the user wants the code at once.
    ///   - consent: The consent without which no phone is contacted, so that the code is shown at once; `nil` to contact the
    ///     phones at once.
    package init?(
        _ store: LinkStore,
        _ links: [StoredLink],
        for requester: Requester,
        codeDelay: Duration = Self.codeDelay,
        isCodeRequested: AwaitableState<Bool> = AwaitableState(false),
        consent: ContactConsent? = nil
    ) {
        guard !links.isEmpty else { return nil }
        self.store = store
        self.links = links
        self.requester = requester
        self.codeDelay = codeDelay
        self.isCodeRequested = isCodeRequested
        self.consent = consent
    }

    /// True if the code is shown before a phone is contacted.
    var showsCodeFirst: Bool { consent != nil }

    /// Returns the TLS sessions with the relay of a link.
    func tlsSessions(of link: StoredLink) -> TLSSessions { store.tlsSessions.owned(by: link.linkID.bytes) }

    /// Returns the links that are contacted if the user names none: those with the name of the last used one.
    ///
    /// There are none for a creation: a phone that was linked without the user's knowledge would receive the new key,
    /// and the user would trust it.
    ///
    /// - Parameters:
    ///   - links: All links, the last used first.
    ///   - command: The command for the phone.
    package static func lastUsed(_ links: [StoredLink], for command: CTAPCommand) -> [StoredLink] {
        guard command == .getAssertion else { return [] }
        return links.filter { $0.name == links.first?.name }
    }

    private enum Ending: Sendable {
        case consentGiven
        case answered(ClientResult)
        case contactsFailed
        case codeFailed(any Error)
        case codeDue(byUser: Bool)
    }

    /// Contacts the phones, and offers the code if that fails or takes too long; the first that completes is used.
    ///
    /// - Parameters:
    ///   - show: Shows an event.
    ///   - failed: Shows the failure of a contact.
    ///   - contact: Performs the ceremony with a linked phone.
    ///   - code: Performs the ceremony with a code.
    /// - Throws: The error of `code`, `CancellationError`.
    func perform(
        show: @escaping @Sendable (ClientEvent) -> Void,
        failed: @escaping @Sendable (LinkFailure) -> Void,
        contact: @escaping Contact,
        code: @escaping @Sendable (_ events: @escaping @Sendable (ClientEvent) -> Void) async throws -> ClientResult
    ) async throws -> ClientResult {
        let isPhoneFound = Locked(false)
        // The last stage of the ceremony with the code, which is shown again after the failure of a contact.
        let stage = Locked<ClientEvent?>(nil)
        return try await withThrowingTaskGroup(of: Ending.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                if let consent {
                    consent.ask(links[0].name)
                    try await Self.wait(for: consent.isGiven)
                }
                return .consentGiven
            }
            group.addTask {
                try await Task.sleep(for: showsCodeFirst ? .zero : codeDelay)
                return .codeDue(byUser: false)
            }
            group.addTask {
                try await Self.wait(for: isCodeRequested)
                return .codeDue(byUser: true)
            }
            var (isContacting, isCodeOffered) = (!showsCodeFirst, false)
            var codeFailure: (any Error)?
            while let ending = try await group.next() {
                switch ending {
                case .consentGiven:
                    isContacting = true
                    group.addTask {
                        let events: @Sendable (ClientEvent) -> Void = { event in
                            if case .phoneFound = event { isPhoneFound.withLock { $0 = true } }
                            show(event)
                        }
                        guard let result = try await contactAll(contact, events, failed) else { return .contactsFailed }
                        return .answered(result)
                    }
                    continue
                case .answered(let result): return result
                case .codeFailed(let error):
                    guard isContacting else { throw error }
                    codeFailure = error
                    continue
                case .contactsFailed:
                    isContacting = false
                    if let codeFailure { throw codeFailure }
                    if let last = stage.withLock({ $0 }) { show(last) }
                case .codeDue(let byUser):
                    guard byUser || !isPhoneFound.withLock({ $0 }) else { continue }
                }
                guard !isCodeOffered else { continue }
                isCodeOffered = true
                group.addTask {
                    do {
                        return .answered(
                            try await code { event in
                                if event.isStage { stage.withLock { $0 = event } }
                                show(event)
                            }
                        )
                    } catch let error as CancellationError {
                        throw error
                    } catch {
                        return .codeFailed(error)
                    }
                }
            }
            throw CancellationError()
        }
    }

    private static func wait(for state: AwaitableState<Bool>) async throws {
        while !state.read({ $0 }) {
            await state.wait { $0 }
            try Task.checkCancellation()
        }
    }

    /// A ceremony with a linked phone.
    typealias Contact =
        @Sendable (StoredLink, ContactClaims, @escaping @Sendable (ClientEvent) -> Void) async throws -> ClientResult

    /// Tries the links; returns `nil` if no phone has answered.
    private func contactAll(
        _ contact: Contact,
        _ events: @escaping @Sendable (ClientEvent) -> Void,
        _ failed: @Sendable (LinkFailure) -> Void
    ) async throws -> ClientResult? {
        for link in links {
            do {
                let result = try await contact(link, try store.nextClaims(for: link, requester), events)
                // Another phone may have the passkey.
                guard result.response.status != .noCredentials else {
                    failed(LinkFailure(noPasskeyOn: link.name))
                    continue
                }
                // The time is for the order of the links only, so a failure is not worth a message.
                _ = try? store.update(link) { stored in
                    (stored.lastUsed, stored.info) = (WallClock.realtime.now(), result.encodedInfo)
                }
                return result
            } catch let error as CancellationError {
                throw error
            } catch {
                if let failure = error as? ClientFailure, failure.removesLink { _ = try? store.remove(link) }
                failed(LinkFailure(link.name, error))
            }
        }
        return nil
    }
}

/// The user's consent to contact linked phones for a guest of this computer, such as a website.
package struct ContactConsent: Sendable {
    /// Becomes true when the user agrees.
    let isGiven: AwaitableState<Bool>
    /// Offers the user to contact the phone with a name.
    let ask: @Sendable (PhoneName) -> Void

    /// Creates a consent.
    ///
    /// - Parameters:
    ///   - isGiven: Becomes true when the user agrees.
    ///   - ask: Offers the user to contact the phone with a name.
    package init(isGiven: AwaitableState<Bool>, ask: @escaping @Sendable (PhoneName) -> Void) {
        (self.isGiven, self.ask) = (isGiven, ask)
    }
}

/// The reason why a linked phone did not answer.
struct LinkFailure: Sendable {
    /// The name of the phone.
    let name: PhoneName
    /// The identifier of the cause for programs.
    let code: String
    /// Cause and remedy on one line.
    let sentence: String

    /// Creates the reason for an error of a contact.
    init(_ name: PhoneName, _ error: any Error) {
        self.name = name
        let failure = error as? any ExplainedFailure
        code = failure?.code ?? "internal-fault"
        if let failure = failure as? ClientFailure, failure.namesPhone {
            sentence = failure.sentence
        } else {
            let reason = failure?.message ?? "internal fault: \(error)"
            sentence = "\(name.quoted) could not be used: \(reason); scan the code instead"
        }
    }

    /// Creates the reason for a phone that has no matching passkey.
    init(noPasskeyOn name: PhoneName) {
        self.name = name
        code = "no-passkey"
        sentence = "\(name.quoted) has no passkey for this request; scan the code instead"
    }
}

extension ClientEvent {
    /// True if the event begins a stage of a ceremony; false for a notice.
    fileprivate var isStage: Bool {
        switch self {
        case .radioLost, .radioRestored, .redirected, .radioChannelFailed: false
        default: true
        }
    }
}
