// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What is asked of a connection through which much goes at once, so that the relay never holds much of it.
enum BulkReceiveLimit {
    /// Whoever sends or gets so much at once, in bytes, is kept on a shorter rein.
    ///
    /// No message of a sign-in is as large, and options that are set on every connection cost more than a message does.
    static let bulk = 8 << 10
    /// What the socket of such an end may leave unsent, in bytes, and still count as taking all it gets.
    private static let unsent = ChannelOptions.Types.WriteBufferWaterMark(low: 4 << 10, high: 8 << 10)

    /// Has the socket read once at a time, not four times, before its end can be paused; and has it say soon that it takes
    /// no more.
    static func take(by options: any NIOSynchronousChannelOptions) {
        // They fail on a socket that is closed, which is as good.
        try? options.setOption(.maxMessagesPerRead, value: 1)
        try? options.setOption(.writeBufferWaterMark, value: unsent)
    }
}
