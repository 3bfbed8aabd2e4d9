// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP

/// `getClientExtensionResults()`: what was asked for, and nothing that was not.
///
/// An output that can't be read counts as none: what the passkey signed is good without it, and a passkey that was made
/// would be lost.
extension CreationExtensions {
    /// The results of a creation.
    func results(
        _ outputs: CBORMap?,
        residentKeyAsked: Bool
    ) -> [(String, JSONText)] {
        var results: [(String, JSONText)] = []
        if credentialProperties {
            // The phone does not tell; what was asked for and not refused was done.
            results.append(("credProps", .object(residentKeyAsked ? [("rk", .boolean(true))] : [])))
        }
        if let prf {
            let output = try? PRFOutput(unsignedOutputs: outputs)
            let enabled: [(String, JSONText)] = [("enabled", .boolean(output?.isEnabled ?? false))]
            results.append(("prf", .object(enabled + Self.prfResults(output, asked: prf.salts))))
        }
        if largeBlobRequired != nil {
            let output = try? LargeBlobOutput(unsignedOutputs: outputs)
            let isSupported = output?.isSupported ?? false
            results.append(("largeBlob", .object([("supported", .boolean(isSupported))])))
        }
        return results
    }

    /// At most what was asked.
    ///
    /// A phone may know the passkey and not the salts, but half of an answer is none.
    fileprivate static func prfResults(
        _ output: PRFOutput?,
        asked salts: PRFSalts?
    ) -> [(String, JSONText)] {
        guard let salts, let first = output?.first else { return [] }
        guard (salts.second == nil) == (output?.second == nil) else { return [] }
        let second: [(String, JSONText)] = (output?.second).map { [("second", .bytes($0.bytes))] } ?? []
        return [("results", .object([("first", .bytes(first.bytes))] + second))]
    }
}

extension RequestExtensions {
    /// The results of a sign-in with a credential.
    func results(_ outputs: CBORMap?, by credential: CredentialID) -> [(String, JSONText)] {
        var results: [(String, JSONText)] = []
        if let prf {
            let output = try? PRFOutput(unsignedOutputs: outputs)
            results.append(
                ("prf", .object(CreationExtensions.prfResults(output, asked: prf.salts(for: credential))))
            )
        }
        if let largeBlob {
            let output = try? LargeBlobOutput(unsignedOutputs: outputs)
            results.append(("largeBlob", .object(Self.largeBlobResults(output, of: largeBlob))))
        }
        return results
    }

    private static func largeBlobResults(
        _ output: LargeBlobOutput?,
        of request: LargeBlobRequest
    ) -> [(String, JSONText)] {
        switch request {
        case .write: return [("written", .boolean(output?.isWritten ?? false))]
        case .read:
            // A blob that can't be inflated is none, as in Chromium: the sign-in is good without it.
            guard let blob = output?.blob, let bytes = Deflate.inflate(blob.bytes, size: blob.originalSize) else {
                return []
            }
            return [("blob", .bytes(bytes))]
        }
    }
}
