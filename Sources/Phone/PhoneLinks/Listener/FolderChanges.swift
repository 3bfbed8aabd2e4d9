// SPDX-License-Identifier: Apache-2.0

private import Dispatch
private import Glibc
private import HybridThreads

/// Notifications about new, replaced and removed files in a folder (inotify).
enum FolderChanges {
    /// Calls `body` with a stream that has an element after each change; several changes may be merged.
    ///
    /// If the folder is removed or renamed, it is watched again once its path exists. If it cannot be watched for another
    /// reason, for example because the user has too many watches, the stream has an element after each interval.
    ///
    /// - Parameters:
    ///   - path: The folder.
    ///   - interval: The time between attempts to watch a folder that is not watched.
    ///   - body: The work.
    static func watch<Result>(
        _ path: String,
        every interval: Duration = .seconds(30),
        _ body: (AsyncStream<Void>) async throws -> Result
    ) async rethrows -> Result {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = Watch(path)
        let source = watch.events { continuation.yield() }
        let attempts = Task {
            while !Task.isCancelled {
                await watch.isActive.wait { !$0 }
                guard !watch.isActive.read({ $0 }) else { continue }
                // Changes may have been missed. A folder that is missing has none.
                if watch.start() != ENOENT { continuation.yield() }
                if !watch.isActive.read({ $0 }) { try? await Task.sleep(for: interval) }
            }
        }
        defer {
            attempts.cancel()
            source?.cancel()
        }
        return try await body(stream)
    }

    /// A watch of one folder.
    private final class Watch: Sendable {
        /// True while the kernel reports the changes.
        let isActive = AwaitableState(false)
        private let path: String
        /// The descriptor of inotify; `nil` if there is none, or it is closed.
        private let descriptor: Locked<CInt?>

        /// Creates a watch, and starts it.
        init(_ path: String) {
            self.path = path
            let new = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
            descriptor = Locked(new < 0 ? nil : new)
            start()
        }

        /// Starts to watch; returns 0 or the number of the error.
        @discardableResult
        func start() -> CInt {
            let mask = UInt32(IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
            // Before the call, because the folder can be removed right after it.
            isActive.change { $0 = true }
            let error = descriptor.withLock { descriptor in
                guard let descriptor else { return EMFILE }
                return inotify_add_watch(descriptor, path, mask) >= 0 ? 0 : errno
            }
            if error != 0 { isActive.change { $0 = false } }
            return error
        }

        /// Calls `changed` after each change, until the returned source is canceled, which closes the descriptor.
        func events(_ changed: @escaping @Sendable () -> Void) -> (any DispatchSourceRead)? {
            guard let number = descriptor.withLock({ $0 }) else { return nil }
            let source = DispatchSource.makeReadSource(fileDescriptor: number, queue: .global())
            source.setEventHandler { [self] in
                readEvents(number)
                changed()
            }
            source.setCancelHandler { [self] in
                descriptor.withLock { $0 = nil }
                close(number)
            }
            source.resume()
            return source
        }

        private func readEvents(_ number: CInt) {
            var events = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(number, &events, events.count)
                guard count > 0 else { return }
                events.withUnsafeBytes { bytes in
                    var offset = 0
                    while offset + MemoryLayout<inotify_event>.size <= count {
                        let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                        // A watch follows a folder that was renamed. IN_IGNORED follows.
                        if event.mask & UInt32(IN_MOVE_SELF) != 0 { inotify_rm_watch(number, event.wd) }
                        if event.mask & UInt32(IN_IGNORED) != 0 { isActive.change { $0 = false } }
                        offset += MemoryLayout<inotify_event>.size + Int(event.len)
                    }
                }
            }
        }
    }
}
