// SPDX-License-Identifier: Apache-2.0

/// A value whose secret is never printed.
///
/// Interpolation, `print`, `dump` and mirrors show only the `description`, by default the name of the type.
public protocol SecretMaterial: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension SecretMaterial {
    /// The type's name and `(hidden)`, without any part of the value.
    public var description: String { "\(Self.self)(hidden)" }
    /// The same text as `description`.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
