// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridThreads

/// `hybrid-client` on this computer, for a browser on this computer that is to use linked phones.
enum LocalClient {
    private static let program = "hybrid-client"
    /// Time for the program to end after a cancellation.
    private static let endTimeout = Duration.seconds(8)
    /// Maximum length of a response in bytes.
    private static let maximumResponse = RemoteMessage.maximumLength

    /// True if the program is on the search path.
    static var isInstalled: Bool {
        let folders = ProcessEnvironment.variables["PATH"]?.split(separator: ":") ?? []
        return folders.contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// Performs a request; returns `nil` if the caller has left.
    ///
    /// - Parameters:
    ///   - message: The request.
    ///   - canceller: A descriptor whose end cancels the request.
    static func perform(_ message: RemoteMessage, unlessEnded canceller: CInt) -> RemoteAnswer? {
        guard let input = SocketPair.make(), let output = SocketPair.make() else { return .failure(.init(.failed)) }
        var arguments = [program, "show-qr", "--request", "-", "--origin=\(message.origin)", "--open"]
        if let top = message.topOrigin { arguments.append("--top-origin=\(top)") }
        let child = try? ChildProcess.spawn(
            arguments,
            input: .descriptor(input.1),
            output: .descriptor(output.1),
            error: .inherited
        )
        close(input.1)
        close(output.1)
        defer { close(output.0) }
        guard let child else {
            close(input.0)
            return .failure(.init(.failed))
        }
        writeAll(message.request, to: input.0)
        close(input.0)
        guard let response = read(output.0, unlessEnded: canceller) else {
            child.send(SIGTERM)
            if child.waitBlocking(atMost: endTimeout) == nil { child.send(SIGKILL) }
            child.waitBlocking()
            return nil
        }
        let isDone = child.waitBlocking() == .exited(ExitStatus.done.rawValue)
        guard isDone, let json = try? JSONText(parsing: response) else { return .failure(.init(.refused)) }
        return .response(json)
    }

    /// Reads until the end; returns `nil` if the caller has left, or the response is too long.
    private static func read(_ output: CInt, unlessEnded canceller: CInt) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            var polled = [output, canceller].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let count = poll(&polled, nfds_t(polled.count), -1)
            if count < 0, errno == EINTR { continue }
            guard count > 0, polled[1].revents == 0 else { return nil }
            let length = Glibc.read(output, &chunk, chunk.count)
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { return bytes }
            bytes += chunk[..<length]
            guard bytes.count <= maximumResponse else { return nil }
        }
    }
}
