// SPDX-License-Identifier: Apache-2.0

/// A value that never prints its secret: interpolation, `print`, `dump` and mirrors give its `description` only, which is
/// the type's name unless the type has its own.
public protocol SecretMaterial: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension SecretMaterial {
    /// The type's name and no part of the value.
    public var description: String { "\(Self.self)(hidden)" }
    /// The type's name and no part of the value.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
