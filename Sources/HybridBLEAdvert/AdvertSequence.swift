// SPDX-License-Identifier: Apache-2.0

/// The adverts a scan hears and was asked for, until the radio fails or the task is cancelled.
///
/// Only one task may iterate, and only inside the body of `BluetoothRadio.withScan`. A consumer that falls more
/// than 64 adverts behind loses the oldest; phones repeat theirs. Those that were not asked for take no place.
public struct AdvertSequence: AsyncSequence, Sendable {
    /// What is heard.
    public typealias Element = ReceivedAdvert
    /// Why the radio stopped.
    public typealias Failure = RadioError

    static let backlog = 64

    let stream: AsyncStream<Result<ReceivedAdvert, RadioError>>

    /// Goes through the adverts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<Result<ReceivedAdvert, RadioError>>.AsyncIterator

        /// The next advert; `nil` when the scan has ended or the task is cancelled.
        public mutating func next() async throws(RadioError) -> ReceivedAdvert? {
            try await next(isolation: nil)
        }

        /// The next advert; `nil` when the scan has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RadioError) -> ReceivedAdvert? {
            try await base.next(isolation: actor)?.get()
        }
    }

    /// Starts going through the adverts.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator())
    }
}
