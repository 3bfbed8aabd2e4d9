// SPDX-License-Identifier: Apache-2.0

package import HybridDBus
internal import HybridPrimitives

/// Screenshots through the XDG Desktop Portal (`org.freedesktop.portal.Screenshot`).
///
/// This program cannot access the screen. The portal, a service on the session bus, asks the user in its own window and
/// writes a file. No other program on the bus is trusted.
///
/// 1. The program creates a random token, which determines the path of the request object. It subscribes to signals of
///    that object.
/// 2. The program calls `Screenshot`, and the portal replies with the path. Later the portal sends a signal with a
///    number (0 success, 1 declined by the user, 2 other) and the file's URI. Only signals of the portal are accepted.
/// 3. On timeout or cancellation, the program calls `Close`, so that the portal closes its window.
package enum ScreenshotPortal {
    static let name = "org.freedesktop.portal.Desktop"
    static let path = "/org/freedesktop/portal/desktop"
    static let interface = "org.freedesktop.portal.Screenshot"
    static let requestInterface = "org.freedesktop.portal.Request"

    /// Requests a screenshot of all screens.
    ///
    /// - Parameters:
    ///   - address: The session bus.
    ///   - limit: The time within which the user must agree.
    /// - Returns: The file that the portal has written.
    package static func take(on address: BusAddress, within limit: Duration) async throws(PortalError) -> ScreenshotFile
    {
        try await BusConnection.with(
            address,
            unreachable: PortalError.noSessionBus,
            cancelled: .interrupted
        ) { connection throws(PortalError) in
            try await take(over: connection, within: limit)
        }
    }

    private static func take(
        over connection: BusConnection,
        within limit: Duration
    ) async throws(PortalError) -> ScreenshotFile {
        let token = token()
        let request = requestPath(of: connection.uniqueName, token)
        let (stream, continuation) = AsyncStream<Result<BusMessage, PortalError>>
            .makeStream(bufferingPolicy: .bufferingOldest(64))
        let rule = "type='signal',interface='\(requestInterface)',member='Response',path='\(request)'"
        do throws(BusError) {
            // Subscribe before the call, because a portal that does not ask the user answers immediately.
            _ = try await connection.observeOwner(of: name, [rule]) { event in
                switch event {
                case .signal(let message):
                    if message.isSignal(requestInterface, "Response"), message.path == request {
                        continuation.yield(.success(message))
                    }
                case .disconnected: continuation.yield(.failure(.failed("the session bus closed the connection")))
                }
            }
            let options = BusValue.properties([
                "handle_token": .string(token), "interactive": .bool(false), "modal": .bool(false),
            ])
            let answer = try await connection.call(name, path, interface, "Screenshot", [.string(""), options])
            guard let path = answer.first?.text, path == request else {
                if let path = answer.first?.text { connection.send(name, path, requestInterface, "Close") }
                throw BusError.malformed("the portal is too old")
            }
        } catch {
            // The portal may have received the call although the task was canceled.
            if error == .cancelled { connection.send(name, request, requestInterface, "Close") }
            throw PortalError(error)
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.failure(.timedOut))
        }
        defer { timer.cancel() }
        for await event in stream {
            switch event {
            case .success(let message):
                return try file(of: message.body)
            case .failure(let error):
                connection.send(name, request, requestInterface, "Close")
                throw error
            }
        }
        connection.send(name, request, requestInterface, "Close")
        throw .interrupted
    }

    /// Returns the path of the request object, which the portal's documentation specifies.
    static func requestPath(of uniqueName: String, _ token: String) -> String {
        let sender = uniqueName.utf8.drop { $0 == UInt8(ascii: ":") }
            .map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "_") : $0 }
        return "\(path)/request/\(String(decoding: sender, as: UTF8.self))/\(token)"
    }

    /// Returns a token that no other program on the bus can guess.
    private static func token() -> String {
        var generator = SystemRandomNumberGenerator()
        return "hybrid" + String(generator.next(), radix: 16) + String(generator.next(), radix: 16)
    }

    /// Returns the file that the body of a response names: a number and a dictionary.
    private static func file(of body: [BusValue]) throws(PortalError) -> ScreenshotFile {
        switch body.first {
        case .uint32(0)?: break
        case .uint32(1)?: throw .declined
        default: throw .failed("the desktop's portal could not take one")
        }
        guard body.count > 1, let uri = body[1].fields?["uri"]?.text, let file = ScreenshotFile(uri: uri) else {
            throw .failed("the desktop's portal named no file")
        }
        return file
    }
}

/// The bus of a desktop session.
package enum SessionBus {
    /// Returns the address of the session bus: `DBUS_SESSION_BUS_ADDRESS`, or the standard socket in `XDG_RUNTIME_DIR`.
    ///
    /// - Returns: `nil` if neither variable is set.
    package static func address(_ environment: [String: String]) -> BusAddress? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return BusAddress(address) }
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return BusAddress("unix:path=\(folder)/bus")
    }
}
