// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives
internal import HybridSecurityKey

/// The purpose of a request to the security key, in words and as events for a prompt.
///
/// It names the relying party. The kernel does not report which program has sent the request.
struct SecurityKeyRequestDescription {
    private let relyingParty: RelyingPartyID
    private let isRegistration: Bool

    init(_ request: PhoneRequest) {
        self.init(request.relyingParty, isRegistration: request.isRegistration)
    }

    init(_ relyingParty: RelyingPartyID, isRegistration: Bool) {
        self.relyingParty = relyingParty
        self.isRegistration = isRegistration
    }

    /// The purpose on one line.
    var text: String {
        let id = relyingParty.text
        return switch relyingParty.kind {
        case .domain: isRegistration ? "create a passkey for \(id)" : "sign in to \(id)"
        case .ssh: isRegistration ? "create an ssh key (\(id))" : "sign with an ssh key (\(id))"
        case .pam: isRegistration ? "enrol the phone for \(id)" : "confirm \(service) on \(id)"
        }
    }

    /// The PAM service, which only the origin in the configuration of pam_u2f can name.
    private var service: String { relyingParty.service ?? "a sign-in (service unknown)" }

    /// The events of the request for a prompt, on one or two lines without a line end.
    ///
    /// - Parameters:
    ///   - timeout: The time limit of each state in which the user must act.
    ///   - asksFirst: True to ask whether the phone is to be used.
    func event(timeout: Duration, asksFirst: Bool = false) -> String {
        Self.event(
            [("operation", .string(isRegistration ? "create" : "sign-in")), ("rp_id", .string(relyingParty.text))],
            timeout,
            asksFirst
        )
    }

    /// Returns the events of a prompt in which the user selects this key.
    static func selection(timeout: Duration) -> String { event([("operation", .string("select"))], timeout, true) }

    private static func event(_ members: [(String, JSONText)], _ timeout: Duration, _ asksFirst: Bool) -> String {
        let request = JSONText.object(
            [("event", .string("request"))] + members + [("timeout_ms", .number(Int(timeout / .milliseconds(1))))]
        )
        guard asksFirst else { return request.description }
        let question = JSONText.object([("event", .string("state")), ("state", .string("use-phone"))])
        return "\(request)\n\(question)"
    }
}
