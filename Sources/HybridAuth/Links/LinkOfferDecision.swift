// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession

/// The decision to offer a link to the device whose code was scanned.
///
/// A link is created only if the user names the computer on the command line, or agrees in a prompt. Either happens
/// before the connection, so that a relay cannot learn the decision from the time of the update.
struct LinkOfferDecision: Sendable {
    /// The label from the command line, which is the user's agreement.
    let label: String?
    /// True if the user is asked without a label.
    let asks: Bool
    /// The relay, which must be able to wake this device.
    let domain: TunnelDomain
    /// True if a push service shall wake this device for the link.
    let usesPush: Bool
    let questioner: Questioner

    /// Returns the link to offer; `nil` if the other device supports none, or the user wants none.
    ///
    /// - Throws: ``CommandFailure`` if the user named the computer and no link can be created.
    func newLink(for offer: QROffer, _ progress: AnswerProgress) async throws -> NewLink? {
        guard offer.supportsLinking == true else {
            if label != nil { progress.notify("link-not-offered", "the other device does not offer a link") }
            return nil
        }
        // Relays of vendors wake only their own phones.
        guard !domain.isAssigned else {
            if label != nil { throw CommandFailure("the relay \(domain.host) can't wake this device", status: .usage) }
            return nil
        }
        guard label != nil || asks else { return nil }
        let store = try PhoneLinkStore(path: PhoneLinkStore.defaultPath(ProcessEnvironment.variables))
        if let label {
            try store.checkRoom()
            return try newLink(label, store, progress)
        }
        do throws(CommandFailure) {
            try store.checkRoom()
        } catch {
            progress.notify("link-not-possible", error.sentence)
            return nil
        }
        let answer = try await LinkOfferPrompt(questioner: questioner).ask(relay: domain.host)
        guard case .agreed(let label) = answer else { return nil }
        // Only a name on the command line replaces another link.
        let free = try store.freeLabel(label ?? "Computer of \(LocalTime.text(WallClock.realtime.now()))")
        return try newLink(free, store, progress)
    }

    /// Returns a link that uses the push subscription in reserve, if push is wanted.
    private func newLink(
        _ label: String,
        _ store: PhoneLinkStore,
        _ progress: AnswerProgress
    ) throws(CommandFailure) -> NewLink {
        var push: PushRegistration?
        if usesPush {
            push = try store.reserve().flatMap { reserve in
                let isUsable = reserve.registration.isUsable(at: WallClock.realtime.now() + PushService.minimumLifetime)
                return reserve.domain == domain && isUsable ? reserve.registration : nil
            }
            if push == nil {
                progress.notify(
                    "push-not-ready",
                    "no push subscription is ready, so the link needs a connection; hybrid-auth listen --push prepares one"
                )
            }
        }
        return try NewLink(label: label, domain: domain, push: push, store: store)
    }
}

/// A link that the user wants, which is stored once it has been sent.
struct NewLink: Sendable {
    /// The offer for the computer.
    let offer: LinkOffer
    private let label: String
    private let push: PushRegistration?
    private let store: PhoneLinkStore

    init(
        label: String,
        domain: TunnelDomain,
        push: PushRegistration?,
        store: PhoneLinkStore
    ) throws(CommandFailure) {
        offer = LinkOffer(
            PhoneLink(at: domain),
            from: try store.identity(),
            name: Self.deviceName,
            contactID: push?.sealed?.contactID
        )
        (self.label, self.push, self.store) = (label, push, store)
    }

    /// Stores the link, in place of an earlier one with this label, and reports that.
    func save(_ progress: AnswerProgress) {
        let now = WallClock.realtime.now()
        do throws(CommandFailure) {
            guard let record = StoredPhoneLink(offer.link, label: label, created: now, push: push) else { return }
            for earlier in try store.contents().links where earlier.label.utf8.elementsEqual(label.utf8) {
                try store.forget(earlier.id, at: now)
                progress.notify("link-replaced", "the earlier link with \(SafeText(quoting: label)) is removed")
            }
            try store.add(record)
            let condition =
                push == nil
                ? "while hybrid-auth listen runs (systemctl --user enable --now hybrid-auth-listen)"
                : "through the push service"
            progress.notify("linked", "linked with \(SafeText(quoting: label)), which can ask again \(condition)")
        } catch {
            progress.notify("link-not-saved", "the link was not saved and will not work: \(error.sentence)")
        }
    }

    /// The name of this device, which the computer lists: its host name.
    static var deviceName: String {
        var name = [CChar](repeating: 0, count: 65)
        guard gethostname(&name, name.count - 1) == 0 else { return "hybrid-auth" }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.isEmpty ? "hybrid-auth" : text
    }
}

/// The name that the user gives a linked computer.
enum LinkLabel {
    /// Checks a label from the command line.
    ///
    /// - Throws: `ValidationError`.
    static func validate(_ text: String) throws {
        guard StoredPhoneLink.isLabel(text) else {
            throw ValidationError(
                "A computer's name has 1 to \(StoredPhoneLink.maximumLabelLength) bytes and no control characters."
            )
        }
    }
}
