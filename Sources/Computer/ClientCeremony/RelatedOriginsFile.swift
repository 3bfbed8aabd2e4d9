// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
package import HybridNetwork
package import HybridWebAuthn

/// The file `/.well-known/webauthn` at the domain of a relying party ID (WebAuthn Level 3 §5.11).
package struct RelatedOriginsFile: Sendable {
    private let id: RelyingPartyID

    /// Creates the file of a relying party ID.
    package init(_ id: RelyingPartyID) { self.id = id }

    /// Retrieves the file and returns its permission for an origin.
    ///
    /// - Parameters:
    ///   - origin: The calling origin.
    ///   - network: Settings for the connection, as for relays.
    /// - Throws: `RelyingPartyIDError` that names the file's URL, `CancellationError`.
    package func permission(for origin: Origin, _ network: NetworkConfiguration) async throws -> RelatedOrigin {
        let bytes: [UInt8]
        do {
            bytes = try await WellKnownFile(host: id.text, path: RelatedOrigins.path).contents(
                atMost: RelatedOrigins.maximumBytes,
                redirections: WellKnownFile.maximumRedirections,
                network
            )
        } catch let error as WellKnownFileError {
            throw RelyingPartyIDError.noRelatedOrigins(id, origin, error.reason)
        }
        let list: RelatedOrigins
        do throws(RelatedOrigins.ParseError) {
            list = try RelatedOrigins(json: bytes)
        } catch {
            throw RelyingPartyIDError.noRelatedOrigins(id, origin, error.reason)
        }
        return try list.permission(for: origin, id)
    }
}
