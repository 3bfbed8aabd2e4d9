// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridVault

/// An import in JSON.
enum ImportJSON {
    /// Returns what a file contains, and what of it is left out.
    static func contents(_ document: ExchangeFile) -> JSONText {
        let sites = document.sites.map { site, count in
            JSONText.object([("rpId", .string(site.text)), ("count", .number(count))])
        }
        let types = document.skipped.compactMap { what, count in
            what.otherType.map { JSONText.object([("type", .string($0)), ("count", .number(count))]) }
        }
        let passkeys = document.skippedPasskeys.map { passkey, why in
            JSONText.object(members(of: passkey) + [("reason", .string(why.reason))])
        }
        let incomplete = document.incomplete.map { what, count in
            JSONText.object([("without", .string(what)), ("count", .number(count))])
        }
        return .object([
            ("sites", .array(sites)), ("otherTypes", .array(types)), ("leftOut", .array(passkeys)),
            ("incomplete", .array(incomplete)),
        ])
    }

    /// Returns the result of an import; it is complete if the file has nothing more that could be lost with it.
    static func result(_ result: PasskeyImport, isComplete: Bool) -> JSONText {
        .object([
            ("complete", .boolean(isComplete)),
            ("added", .number(result.added)),
            ("present", .array(result.present.map { .object(members(of: $0)) })),
            ("different", .array(result.different.map { .object(members(of: $0)) })),
        ])
    }

    /// Returns the members that name a passkey.
    static func members(of passkey: PasskeyLabel) -> [(String, JSONText)] {
        [
            ("rpId", passkey.site.map { .string($0) } ?? .null),
            ("userName", passkey.account.map { .string($0) } ?? .null),
        ]
    }
}
