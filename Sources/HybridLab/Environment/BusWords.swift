// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSystemBus

extension CommandFailure {
    /// The private bus let somebody down who was on it.
    init(privateBus error: BusError) {
        self.init("the private bus failed: \(error.words)", status: .unavailable)
    }
}

extension BusError {
    /// What happened, in the middle of a sentence.
    fileprivate var words: String {
        switch self {
        case .notReachable(let address): "nothing lets us in at \(address)"
        case .refused(_, let message): message
        case .timedOut: "it did not answer in time"
        case .disconnected: "it ended the connection"
        case .cancelled: "it was interrupted"
        case .malformed(let how): how
        }
    }
}
