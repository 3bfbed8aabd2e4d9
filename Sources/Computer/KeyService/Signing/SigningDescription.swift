// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridSSHAgent

/// The purpose of a signature in words, from parsed data and verified bindings only.
package struct SigningDescription: Sendable {
    private let request: SignRequest
    private let hostName: String?

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - hostName: The name of the server in a known_hosts file.
    package init(_ request: SignRequest, hostName: String?) {
        self.request = request
        self.hostName = hostName
    }

    /// The purpose on one line, such as `log in as "root" on example.org, host key SHA256:… (ssh key "work")`.
    package var text: String {
        let name = hostName.map { " on \($0)" } ?? ""
        let purpose =
            switch request.purpose {
            case .login(_, let host?, _):
                "log in as \(request.shownSubject)\(name), \(Self.weakness(host))host key \(host.fingerprint)"
            case .login: "log in as \(request.shownSubject), unknown host, perhaps forwarded"
            case .message(let namespace, _):
                namespace.description == "git" ? "sign for git" : "sign for \(request.shownSubject)"
            }
        return "\(purpose) (ssh key \(request.shownKeyName))\(certificate)\(forwarded)"
    }

    /// The event `request` for a prompt, on one line without a line end.
    ///
    /// - Parameter timeout: The time limit of each state in which the user must act.
    package func event(timeout: Duration) -> String {
        var members: [(String, JSONText)] = [("event", .string("request"))]
        switch request.purpose {
        case .login(let user, let host, _):
            members += [("operation", .string("ssh-login")), ("user", .string(user.description))]
            if let hostName { members.append(("host", .string(hostName))) }
            if let certificate = request.certificate {
                members.append(("authority", .string(certificate.authority.description)))
                members.append(("principals", .string(certificate.shownPrincipals)))
            }
            if let host { members.append(("fingerprint", .string(host.fingerprint.description))) }
            if let host, host.isWeak { members.append(("weak", .boolean(true))) }
        case .message(let namespace, _):
            members += [("operation", .string("ssh-signature")), ("namespace", .string(namespace.description))]
        }
        members += [
            ("key", .string(request.key.comment.description)),
            ("rp_id", .string(request.key.publicKey.application.description)),
            ("forwarded", .boolean(request.isForwarded)),
            ("timeout_ms", .number(Int(timeout / .milliseconds(1)))),
        ]
        return JSONText.object(members).description
    }

    private static func weakness(_ host: HostKey) -> String { host.isWeak ? "weak " : "" }

    private var certificate: String {
        guard let certificate = request.certificate else { return "" }
        return ", certificate of \(certificate.authority) for \(certificate.shownPrincipals)"
    }

    private var forwarded: String {
        guard request.isForwarded else { return "" }
        let via = request.purpose.via.map { "\(Self.weakness($0))\($0.fingerprint)" }.joined(separator: ", ")
        return ", forwarded through \(via.isEmpty ? "an unknown host" : via)"
    }
}

extension SignRequest {
    /// The server of a login, if the connection is bound to its session.
    var host: HostKey? { if case .login(_, let host, _) = purpose { host } else { nil } }
}
