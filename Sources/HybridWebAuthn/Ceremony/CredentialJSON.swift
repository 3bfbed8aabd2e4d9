// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives

/// The members that `RegistrationResponseJSON` and `AuthenticationResponseJSON` share.
enum CredentialJSON {
    static func encode(
        id: CredentialID,
        response: [(String, JSONText)],
        extensionResults: [(String, JSONText)]
    ) -> [UInt8] {
        let object = JSONText.object([
            ("id", .bytes(id.bytes)),
            ("rawId", .bytes(id.bytes)),
            ("response", .object(response)),
            ("authenticatorAttachment", .string("cross-platform")),
            ("clientExtensionResults", .object(extensionResults)),
            ("type", .string(CredentialDescriptor.publicKeyType)),
        ])
        return Array(object.serialized.utf8)
    }
}

extension JSONText {
    /// Bytes as WebAuthn's JSON writes them.
    static func bytes(_ bytes: [UInt8]) -> JSONText { .string(Base64URL.encode(bytes)) }
}
