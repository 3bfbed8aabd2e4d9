// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridWebAuthn

/// The wallet of the lab's phone, which answers requests for digital credentials as the script says.
///
/// The credential is made up: it names the origin and the operation of the request, so that tests can check them.
struct ScriptedWallet: Sendable {
    let script: PhoneScript
    let report: PhoneReport

    /// Returns the reply to a request, as JSON.
    func reply(to message: [UInt8]) async -> [UInt8] {
        let request: DigitalCredentialRequest
        do throws(DigitalCredentialError) {
            request = try DigitalCredentialRequest(message: message)
        } catch {
            report.user("not asked, because \(error.sentence)")
            return Self.error("UNKNOWN")
        }
        report.request(request)
        if script.wait > .zero { try? await Task.sleep(for: script.wait) }
        if let bytes = script.reply {
            report.user("answers with the bytes of the script's file")
            return bytes
        }
        if let name = script.refusal {
            report.user("answers with the error \(SafeText(quoting: name))")
            return Self.error(name)
        }
        guard script.user != .deny else {
            report.user("asked for a digital credential; the script declines")
            return Self.error("USER_CANCELED")
        }
        report.user("asked for a digital credential; the script presents one")
        return Self.response([
            (
                "data",
                .object([
                    ("protocol", .string(request.protocols[0])),
                    (
                        "data",
                        .object([
                            ("lab", .string("not a real credential")), ("origin", .string(request.origin)),
                            ("operation", .string(request.operation.rawValue)),
                        ])
                    ),
                ])
            )
        ])
    }

    private static func error(_ name: String) -> [UInt8] { response([("error", .string(name))]) }

    private static func response(_ digital: [(String, JSONText)]) -> [UInt8] {
        let object = JSONText.object([("response", .object([("digital", .object(digital))]))])
        return Array(object.serialized(.clientData).utf8)
    }
}

extension RequestHint {
    /// True if the code is for digital credentials.
    var isForWallets: Bool { self == .presentCredential || self == .issueCredential }
}
