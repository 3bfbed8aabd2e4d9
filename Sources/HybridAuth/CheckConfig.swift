// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridDataChannel

/// The settings of `hybrid-auth` for `check-config`, without flags.
struct AuthSettingsCheck: CheckedSettings {
    static let checkConfigDiscussion = """
        Reads environment variables and auth.env as scan does, and fails with the same errors. A setting without a \
        value is no error here, because setup saves the relay.
        """

    func checkedConfiguration() throws -> Configuration {
        let settings = try AuthSettings.resolve(GivenFlags())
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
        if let domain = try AuthSettings.domain(settings),
            let file = try AuthSettings.tokenFile(for: domain, settings)
        {
            _ = try AuthSettings.token(file)
        }
        return settings
    }
}
