// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP

/// A way in which the phone's extension `prf` falls short, as with phones whose password app lacks it.
///
/// Passkeys have a secret all the same, so that the next script can return results for them.
enum ScriptedPRF: String, Sendable, CaseIterable {
    /// The phone does not list the extension, and returns no output.
    case absent
    /// The phone lists the extension, but returns no output.
    case ignored
    /// New passkeys are reported without support, and there are no results.
    case disabled
    /// There is no second result.
    case first
    /// Results come with a sign-in only.
    case signIn = "sign-in"

    /// Returns the capabilities of the phone, given those of `hybrid-auth`.
    func capabilities(_ info: AuthenticatorInfo) -> AuthenticatorInfo {
        guard self == .absent else { return info }
        var info = info
        info.extensions.removeAll { $0 == PRFInput.extensionName }
        return info
    }

    /// Returns the phone's response, given that of `hybrid-auth`, and what it returns for `prf`; `nil` if both are the same.
    func altered(_ response: CTAPResponse, to request: CTAPRequest) -> (response: CTAPResponse, prf: String)? {
        switch request {
        case .makeCredential:
            guard var made = try? MakeCredentialResponse(parsing: response.body) else { return nil }
            let outputs = made.unsignedExtensionOutputs
            made.unsignedExtensionOutputs = altered(outputs, isCreation: true)
            guard made.unsignedExtensionOutputs != outputs else { return nil }
            return (.success(made.encoded), Self.members(made.unsignedExtensionOutputs))
        case .getAssertion:
            guard var signed = try? GetAssertionResponse(parsing: response.body) else { return nil }
            let outputs = signed.unsignedExtensionOutputs
            signed.unsignedExtensionOutputs = altered(outputs, isCreation: false)
            guard signed.unsignedExtensionOutputs != outputs else { return nil }
            return (.success(signed.encoded), Self.members(signed.unsignedExtensionOutputs))
        case .getInfo, .selection: return nil
        }
    }

    private static let name = CBORValue.text(PRFInput.extensionName)

    private func altered(_ outputs: CBORMap?, isCreation: Bool) -> CBORMap? {
        guard var outputs, var prf = outputs[Self.name]?.map else { return outputs }
        switch self {
        case .absent, .ignored: prf = [:]
        case .disabled: prf = isCreation ? ["enabled": false] : [:]
        case .first:
            guard var results = prf["results"]?.map else { break }
            results["second"] = nil
            prf["results"] = .map(results)
        case .signIn: if isCreation { prf["results"] = nil }
        }
        outputs[Self.name] = prf.isEmpty ? nil : .map(prf)
        return outputs.isEmpty ? nil : outputs
    }

    /// Returns the members of the output, without secrets.
    private static func members(_ outputs: CBORMap?) -> String {
        let prf = outputs?[name]?.map ?? [:]
        let enabled = prf["enabled"]?.boolean.map { ["enabled: \($0)"] } ?? []
        let results = (prf["results"]?.map?.keys ?? []).compactMap(\.text)
        return prf.isEmpty ? "nothing" : (enabled + results).joined(separator: ", ")
    }
}
