// SPDX-License-Identifier: Apache-2.0

/// The version of all programs (https://semver.org), in a separate file because `scripts/package` reads it.
public enum ProductVersion {
    /// The version as in CHANGELOG.md.
    public static let text = "0.1.0"
}
