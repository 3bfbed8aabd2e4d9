// SPDX-License-Identifier: Apache-2.0

internal import NIOPosix

/// The threads that run the connections of this process.
public enum NetworkThreads {
    /// Starts the threads, unless they run.
    ///
    /// Otherwise the first connection starts them, which takes about two milliseconds.
    public static func start() {
        // The singletons start their threads when they are created.
        _ = MultiThreadedEventLoopGroup.singleton.next()
        _ = NIOThreadPool.singleton
    }
}
