// SPDX-License-Identifier: Apache-2.0

private import Dispatch
private import Glibc

/// Notifications about new, replaced and removed files in a folder (inotify).
enum FolderChanges {
    /// Calls `body` with a stream that has an element after each change; several changes may be merged.
    ///
    /// If the folder cannot be watched, the stream has no elements.
    static func watch<Result>(
        _ path: String,
        _ body: (AsyncStream<Void>) async throws -> Result
    ) async rethrows -> Result {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        guard descriptor >= 0 else { return try await body(stream) }
        inotify_add_watch(descriptor, path, UInt32(IN_MOVED_TO | IN_DELETE))
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
        source.setEventHandler {
            var events = [UInt8](repeating: 0, count: 4096)
            while read(descriptor, &events, events.count) > 0 {}
            continuation.yield()
        }
        source.setCancelHandler { close(descriptor) }
        source.resume()
        defer { source.cancel() }
        return try await body(stream)
    }
}
