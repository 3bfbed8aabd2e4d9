// SPDX-License-Identifier: Apache-2.0

internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridProgram
internal import HybridWebAuthn

extension ShowQRCommand {
    /// Reads and checks the website's request and its origin, which the command line specifies.
    ///
    /// If the relying party ID belongs to another domain, that domain's list of related origins is retrieved.
    func ceremony(_ network: NetworkConfiguration) async throws -> Ceremony {
        let page = try RequestFile.origin(origin, of: "--origin")
        let top = try topOrigin.map { try RequestFile.origin($0, of: "--top-origin") }
        do {
            let limit = PublicKeyOptions.maximumBytes
            let bytes = try RequestFile(path: request).contents(atMost: limit, orThrow: OptionsError.tooLarge)
            let options = try PublicKeyOptions(json: bytes)
            return try await Ceremony.checked(options, origin: page, topOrigin: top, network)
        } catch let failure as any WebAuthnFailure {
            throw CommandFailure(webAuthn: failure)
        }
    }
}
