// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP
internal import HybridDeflate
internal import HybridPrimitives

// `getClientExtensionResults()` contains results of requested extensions only. A malformed output counts as absent,
// because the signature is valid without it, and an error would make a new passkey unusable.
extension CreationExtensions {
    /// Returns the extension results of a registration.
    func results(_ outputs: CBORMap?, residentKeyRequested: Bool) -> [(String, JSONText)] {
        var results: [(String, JSONText)] = []
        if credentialProperties {
            // Phones do not report this property, but they reject a request for it that they cannot fulfill.
            results.append(("credProps", .object(residentKeyRequested ? [("rk", .boolean(true))] : [])))
        }
        if let prf {
            let output = try? PRFOutput(unsignedOutputs: outputs)
            let enabled: [(String, JSONText)] = [("enabled", .boolean(output?.isEnabled ?? false))]
            results.append(("prf", .object(enabled + Self.prfResults(output, requested: prf.salts))))
        }
        if largeBlobRequired != nil {
            let output = try? LargeBlobOutput(unsignedOutputs: outputs)
            let isSupported = output?.isSupported ?? false
            results.append(("largeBlob", .object([("supported", .boolean(isSupported))])))
        }
        return results
    }

    /// Returns the results for the requested salts; empty unless there is a result for each salt.
    fileprivate static func prfResults(_ output: PRFOutput?, requested salts: PRFSalts?) -> [(String, JSONText)] {
        guard let salts, let first = output?.first else { return [] }
        guard (salts.second == nil) == (output?.second == nil) else { return [] }
        let second: [(String, JSONText)] = (output?.second).map { [("second", .bytes($0.bytes))] } ?? []
        return [("results", .object([("first", .bytes(first.bytes))] + second))]
    }
}

extension RequestExtensions {
    /// Returns the extension results of a sign-in with a credential.
    func results(_ outputs: CBORMap?, by credential: CredentialID) -> [(String, JSONText)] {
        var results: [(String, JSONText)] = []
        if let prf {
            let output = try? PRFOutput(unsignedOutputs: outputs)
            let members = CreationExtensions.prfResults(output, requested: prf.salts(for: credential))
            results.append(("prf", .object(members)))
        }
        if let largeBlob {
            let output = try? LargeBlobOutput(unsignedOutputs: outputs)
            results.append(("largeBlob", .object(largeBlob.results(output))))
        }
        return results
    }
}

extension LargeBlobRequest {
    fileprivate func results(_ output: LargeBlobOutput?) -> [(String, JSONText)] {
        switch self {
        case .write: return [("written", .boolean(output?.isWritten ?? false))]
        case .read:
            // As in Chromium, a malformed blob counts as absent.
            guard let blob = output?.blob, let bytes = Deflate.inflate(blob.bytes, size: blob.originalSize) else {
                return []
            }
            return [("blob", .bytes(bytes))]
        }
    }
}
