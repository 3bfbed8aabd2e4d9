// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita

/// The parameters of a signal; valid during its handler only.
package struct SignalArguments {
    private let values: UnsafeBufferPointer<GValue>

    init(_ values: UnsafeBufferPointer<GValue>) { self.values = values }

    /// Number of parameters after the object.
    package var count: Int { max(0, values.count - 1) }

    /// Returns a parameter that is a text, or a variant with one; positions count from 0, after the object.
    package func text(_ position: Int) -> String? {
        value(position).flatMap { hybrid_value_text($0) }.map { String(cString: $0) }
    }

    /// Returns a parameter that is an integer, an enumeration, a truth value, or a variant with one; 0 for others.
    package func integer(_ position: Int) -> Int { value(position).map { Int(hybrid_value_integer($0)) } ?? 0 }

    /// Returns a parameter that is an object.
    package func element(_ position: Int) -> Element? {
        value(position).flatMap { hybrid_value_object($0) }.map { Element($0) }
    }

    private func value(_ position: Int) -> UnsafePointer<GValue>? {
        guard values.indices.contains(position + 1) else { return nil }
        return values.baseAddress.map { $0 + position + 1 }
    }
}

/// The closure of a signal, which the connection owns.
private final class SignalHandler {
    let body: (SignalArguments) -> Bool

    init(_ body: @escaping (SignalArguments) -> Bool) { self.body = body }
}

extension Element {
    /// Calls a closure for each signal; the object owns the closure, which must not own a window in turn.
    ///
    /// - Parameters:
    ///   - signal: The name, such as `clicked` or `notify::text`.
    ///   - body: The closure.
    package func on(_ signal: String, _ body: @escaping () -> Void) {
        connect(signal) { _ in
            body()
            return false
        }
    }

    /// Calls a closure with the parameters of each signal.
    package func on(_ signal: String, with body: @escaping (SignalArguments) -> Void) {
        connect(signal) {
            body($0)
            return false
        }
    }

    /// Calls a closure for each signal that has an answer, such as `close-request`; true stops other handlers.
    package func on(_ signal: String, answering body: @escaping (SignalArguments) -> Bool) { connect(signal, body) }

    private func connect(_ signal: String, _ body: @escaping (SignalArguments) -> Bool) {
        let call: HybridHandler = { data, count, values in
            guard let data else { return 0 }
            let handler = Unmanaged<SignalHandler>.fromOpaque(data).takeUnretainedValue()
            return handler.body(SignalArguments(UnsafeBufferPointer(start: values, count: Int(count)))) ? 1 : 0
        }
        let data = Unmanaged.passRetained(SignalHandler(body)).toOpaque()
        _ = hybrid_connect(pointer, signal, call, data) { data, _ in
            if let data { Unmanaged<SignalHandler>.fromOpaque(data).release() }
        }
    }
}
