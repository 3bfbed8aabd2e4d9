// SPDX-License-Identifier: Apache-2.0

/// Every way in which a value may show itself by accident.
enum Shown {
    /// Not private: the name of a private type is printed with an address, in which any digits may stand.
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
