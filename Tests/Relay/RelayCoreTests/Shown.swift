// SPDX-License-Identifier: Apache-2.0

/// All ways in which a value may be printed by accident.
enum Shown {
    /// Not private: a private type's name is printed with an address, which contains arbitrary digits.
    struct Wrapped<Value> {
        let value: Value
    }

    static func texts<Value>(_ value: Value) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        dump(Wrapped(value: value), to: &dumped)
        return ["\(value)", String(reflecting: value), "\(Optional(value) as Any)", "\(Wrapped(value: value))", dumped]
            + ["\([value])", Mirror(reflecting: value).children.map { "\($0)" }.joined()]
    }
}
