// SPDX-License-Identifier: Apache-2.0

/// The version of all programs (https://semver.org).
public enum ProductVersion {
    /// As CHANGELOG.md has it.
    public static let text = "0.1.0"
}
