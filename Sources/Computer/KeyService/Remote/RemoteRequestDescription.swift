// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives

/// The purpose of a request of another host, in words and as events for a prompt.
struct RemoteRequestDescription {
    /// The names of the hosts, nearest first; the last one asks.
    let hosts: [String]
    /// The relying party ID.
    let relyingParty: RelyingPartyID
    /// The origin of the page, if it is of another domain than the relying party ID; `nil` otherwise.
    let otherOrigin: String?
    /// True for a registration.
    let isCreation: Bool
    /// True if the website asks for secrets of the passkey.
    let wantsSecret: Bool

    /// The purpose on one line.
    var text: String {
        let purpose = "\(isCreation ? "create a passkey for" : "sign in to") \(relyingParty.text)"
        let secret = wantsSecret ? ", with a secret of the passkey," : ""
        let page = otherOrigin.map { " for the page \($0)" } ?? ""
        let through = hosts.dropLast().joined(separator: ", ")
        return "\(purpose)\(page)\(secret) in a browser on \(hosts.last ?? "an unknown host")"
            + (through.isEmpty ? "" : " through \(through)")
    }

    /// The events of the request for a prompt, on two lines without a line end if it asks first, otherwise on one.
    ///
    /// - Parameters:
    ///   - timeout: The time limit of each state in which the user must act.
    ///   - question: True if the user may also answer for the future; `nil` to ask nothing.
    func event(timeout: Duration, question: Bool?) -> String {
        var members: [(String, JSONText)] = [
            ("event", .string("request")), ("operation", .string(isCreation ? "remote-create" : "remote-sign-in")),
            ("rp_id", .string(relyingParty.text)), ("hosts", .array(hosts.map(JSONText.string))),
        ]
        if let otherOrigin { members.append(("origin", .string(otherOrigin))) }
        if wantsSecret { members.append(("secret", .boolean(true))) }
        if question == true { members.append(("permanent", .boolean(true))) }
        members.append(("timeout_ms", .number(Int(timeout / .milliseconds(1)))))
        let request = JSONText.object(members)
        guard question != nil else { return request.description }
        let state = JSONText.object([("event", .string("state")), ("state", .string("use-phone"))])
        return "\(request)\n\(state)"
    }
}
