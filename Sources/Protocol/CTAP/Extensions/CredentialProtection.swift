// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// Input of the extension `credProtect`: when a passkey may be used (CTAP 2.2 §12.1).
///
/// The raw value is the number in CTAP.
public enum CredentialProtection: Int, CaseIterable, Sendable {
    /// Always, which is the default.
    case userVerificationOptional = 1
    /// With user verification, or if the request names the passkey.
    case userVerificationOptionalWithCredentialIDList = 2
    /// With user verification only.
    case userVerificationRequired = 3

    /// Name of the extension in getInfo.
    public static let extensionName = "credProtect"

    /// Creates a value from a website's `credentialProtectionPolicy`; `nil` for an unknown text.
    public init?(policy: String) {
        guard let value = Self.allCases.first(where: { $0.policy == policy }) else { return nil }
        self = value
    }

    private var policy: String {
        switch self {
        case .userVerificationOptional: "userVerificationOptional"
        case .userVerificationOptionalWithCredentialIDList: "userVerificationOptionalWithCredentialIDList"
        case .userVerificationRequired: "userVerificationRequired"
        }
    }

    /// The entry for the extensions map of a creation request, and for the signed outputs of its response.
    public var extensionInput: CBORMap { [.text(Self.extensionName): .integer(rawValue)] }
}

extension MakeCredentialRequest {
    /// The requested protection; `nil` if the request contains none that is known.
    public var credentialProtection: CredentialProtection? {
        extensions?[.text(CredentialProtection.extensionName)]?.integer.flatMap(CredentialProtection.init(rawValue:))
    }
}
