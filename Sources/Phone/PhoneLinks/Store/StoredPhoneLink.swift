// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridPrimitives
package import HybridSession

/// A link, with what this device remembers about the computer.
///
/// A link that the user forgot remains as a revocation. The relay keeps revocations in memory only, so they are
/// repeated after its restart.
package struct StoredPhoneLink: Sendable, SecretMaterial {
    /// Maximum length of a label in bytes of UTF-8.
    package static let maximumLabelLength = 128

    /// The secret and the history of an active link.
    package struct Activity: Sendable, SecretMaterial {
        /// The secret that both ends share.
        package let secret: LinkSecret
        /// The time of the last sign-in that the user approved, in seconds since 1970; `nil` if there was none.
        package var lastUsed: UInt64?
        /// The numbers of past wake-ups.
        var numbers = WakeUpNumbers()
        /// The declines of requests of the user's programs.
        package internal(set) var programs = Declines()
        /// The declines of requests of guests, which never mute those of programs.
        package internal(set) var guests = Declines()
    }

    /// The wake-ups of one cause that the user declined.
    package struct Declines: Hashable, Sendable {
        /// True if wake-ups are declined without a question.
        package internal(set) var isMuted = false
        /// The times at which the user declined, in seconds since 1970; at most ``maximumDeclines``.
        var times: [UInt64] = []
    }

    /// The revocation of a link that the user forgot.
    package struct Revocation: Hashable, Sendable {
        /// The time at which the user forgot the link, in seconds since 1970.
        package let time: UInt64
        /// True if the relay has confirmed the revocation at least once.
        package var isConfirmed = false
    }

    /// The state of a link.
    package enum State: Sendable {
        /// The computer can wake this device.
        case active(Activity)
        /// The user forgot the link.
        case forgotten(Revocation)
    }

    /// Number of declines within ``declinePeriod`` that mute requests of the same cause.
    static let maximumDeclines = 3
    /// The period in seconds in which declines are counted.
    static let declinePeriod: UInt64 = 600

    /// The ID of the link.
    package let id: LinkID
    /// The key of the contact ID.
    package let contactKey: ContactKey
    /// The relay at which the computer contacts this device.
    package let domain: TunnelDomain
    /// The user's name for the computer.
    package internal(set) var label: String
    /// The time at which the link was created, in seconds since 1970.
    package let created: UInt64
    /// The state.
    package internal(set) var state: State
    /// The subscription through which the relay wakes this device; `nil` if it listens for the link.
    package internal(set) var push: PushRegistration?

    init(
        id: LinkID,
        contactKey: ContactKey,
        domain: TunnelDomain,
        label: String,
        created: UInt64,
        state: State,
        push: PushRegistration? = nil
    ) {
        (self.id, self.contactKey, self.domain) = (id, contactKey, domain)
        (self.label, self.created, self.state, self.push) = (label, created, state, push)
    }

    /// Creates the record of a new link; `nil` if the label is empty or too long.
    package init?(_ link: PhoneLink, label: String, created: UInt64, push: PushRegistration? = nil) {
        guard Self.isLabel(label) else { return nil }
        self.init(
            id: link.id,
            contactKey: link.contactKey,
            domain: link.domain,
            label: label,
            created: created,
            state: .active(Activity(secret: link.secret)),
            push: push
        )
    }

    /// Returns true if a text can be a label: 1 to 128 bytes without line ends and control characters.
    package static func isLabel(_ text: String) -> Bool {
        (1...maximumLabelLength).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// The activity of an active link; `nil` for a revocation.
    package var activity: Activity? { if case .active(let activity) = state { activity } else { nil } }

    /// The revocation of a forgotten link; `nil` for an active link.
    package var revocation: Revocation? { if case .forgotten(let revocation) = state { revocation } else { nil } }

    /// Returns true if no relay can wake this device for the link any more, so that the computer must be linked again.
    package func isUnreachable(at now: UInt64) -> Bool {
        activity != nil && push.map { !$0.isUsable(at: now) } ?? false
    }

    /// The link; `nil` for a revocation.
    package var link: PhoneLink? {
        activity.map { PhoneLink(id: id, secret: $0.secret, contactKey: contactKey, domain: domain) }
    }

    /// Changes the activity of an active link; does nothing for a revocation.
    mutating func change<Result>(_ body: (inout Activity) -> Result) -> Result? {
        guard case .active(var activity) = state else { return nil }
        let result = body(&activity)
        state = .active(activity)
        return result
    }
}

extension StoredPhoneLink.Activity {
    /// The declines of requests with a cause.
    package internal(set) subscript(requester: Requester) -> StoredPhoneLink.Declines {
        get {
            switch requester {
            case .program: programs
            case .guest: guests
            }
        }
        set {
            switch requester {
            case .program: programs = newValue
            case .guest: guests = newValue
            }
        }
    }

    /// Lets the computer ask again, for each cause.
    mutating func unmute() { (programs, guests) = (StoredPhoneLink.Declines(), StoredPhoneLink.Declines()) }
}

extension StoredPhoneLink.Declines {
    /// Records that the user declined; returns true if this mutes requests of this cause.
    mutating func add(at now: UInt64) -> Bool {
        // A clock that was set back leaves times in the future, which no longer count.
        times = times.filter { $0 <= now && now - $0 < StoredPhoneLink.declinePeriod } + [now]
        guard times.count >= StoredPhoneLink.maximumDeclines, !isMuted else { return false }
        (isMuted, times) = (true, [])
        return true
    }
}
