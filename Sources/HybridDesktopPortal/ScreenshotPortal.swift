// SPDX-License-Identifier: Apache-2.0

public import HybridSystemBus

/// A picture of the screen, asked of the desktop's portal (XDG Desktop Portal, `org.freedesktop.portal.Screenshot`).
///
/// Who takes part: this **program**, which may not look at the screen itself; the **portal**, a service on the session
/// bus, which asks the **person** in a window of its own if it wants to, and writes a file; and everybody else on that
/// bus, who is not believed.
///
/// 1. The program draws a random token, which makes the path of the request that is to be, and listens there.
/// 2. It calls `Screenshot`. The portal answers with the request's path, and much later, in a signal, with a number
///    (0 done, 1 the person declined, 2 other) and the file's URI. Only the portal's own signals count.
/// 3. On time-out and cancellation it calls `Close`, so that the portal takes its window down.
public enum ScreenshotPortal {
    static let name = "org.freedesktop.portal.Desktop"
    static let path = "/org/freedesktop/portal/desktop"
    static let interface = "org.freedesktop.portal.Screenshot"
    static let requestInterface = "org.freedesktop.portal.Request"

    /// Asks for a picture of all screens.
    ///
    /// - Parameters:
    ///   - address: The session bus.
    ///   - limit: How long the person has to agree.
    /// - Returns: The file that the portal wrote.
    public static func take(on address: BusAddress, within limit: Duration) async throws(PortalError) -> ScreenshotFile
    {
        let connection: BusConnection
        do throws(BusError) {
            connection = try await BusConnection.connect(to: address)
        } catch {
            throw error == .cancelled ? .interrupted : .noSessionBus
        }
        do throws(PortalError) {
            let file = try await take(over: connection, within: limit)
            await connection.close()
            return file
        } catch {
            await connection.close()
            throw error
        }
    }

    private enum Event: Sendable {
        case response(BusMessage)
        case disconnected
        case timedOut
    }

    private static func take(
        over connection: BusConnection,
        within limit: Duration
    ) async throws(PortalError) -> ScreenshotFile {
        let token = token()
        let request = requestPath(of: connection.uniqueName, token)
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(64))
        let rule = "type='signal',interface='\(requestInterface)',member='Response',path='\(request)'"
        do throws(BusError) {
            // Before the call: a portal that need not ask answers at once.
            _ = try await connection.observe([rule]) { event in
                switch event {
                case .signal(let message):
                    if message.isSignal(requestInterface, "Response"), message.path == request {
                        continuation.yield(.response(message))
                    }
                case .disconnected: continuation.yield(.disconnected)
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
            // The portal may have got the call all the same.
            if error == .cancelled { connection.send(name, request, requestInterface, "Close") }
            throw PortalError(error)
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            continuation.yield(.timedOut)
        }
        defer { timer.cancel() }
        let portal: String?
        do throws(BusError) {
            portal = try await connection.owner(of: name)
        } catch {
            connection.send(name, request, requestInterface, "Close")
            throw PortalError(error)
        }
        for await event in stream {
            switch event {
            case .response(let message):
                guard message.sender == portal else { continue }
                return try file(of: message.body)
            case .disconnected: throw .failed("the session bus went away")
            case .timedOut:
                connection.send(name, request, requestInterface, "Close")
                throw .timedOut
            }
        }
        connection.send(name, request, requestInterface, "Close")
        throw .interrupted
    }

    /// Where the answer to a request will come from, as the portal's documentation says.
    static func requestPath(of uniqueName: String, _ token: String) -> String {
        let sender = uniqueName.utf8.drop { $0 == UInt8(ascii: ":") }
            .map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "_") : $0 }
        return "\(path)/request/\(String(decoding: sender, as: UTF8.self))/\(token)"
    }

    /// A name that nobody else on the bus can guess.
    private static func token() -> String {
        var generator = SystemRandomNumberGenerator()
        return "hybrid" + String(generator.next(), radix: 16) + String(generator.next(), radix: 16)
    }

    /// Reads an answer: a number and a dictionary.
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

/// Why there is no picture of the screen.
public enum PortalError: Error, Hashable, Sendable {
    /// Nothing answers as a session bus.
    case noSessionBus
    /// There is no portal on the bus, and none that could be started.
    case noPortal
    /// The portal takes no screenshots: its desktop's part is missing.
    case noScreenshots
    /// The person said no.
    case declined
    /// Nobody answered in time.
    case timedOut
    /// The portal failed; with the reason.
    case failed(String)
    /// The task was cancelled.
    case interrupted

    /// One line that says the cause and the remedy.
    public var sentence: String {
        switch self {
        case .noSessionBus: "there is no session bus; run this inside a desktop session, or use --image"
        case .noPortal: "this desktop has no portal; install xdg-desktop-portal, or use --image with a screenshot"
        case .noScreenshots:
            "this desktop's portal takes no screenshots; install its backend (such as xdg-desktop-portal-gnome), or use "
                + "--image with a screenshot"
        case .declined: "you did not allow the screenshot"
        case .timedOut: "nobody allowed the screenshot in time"
        case .failed(let reason): "no screenshot: \(reason)"
        case .interrupted: "interrupted"
        }
    }

    init(_ error: BusError) {
        switch error {
        case .notReachable: self = .noSessionBus
        case .refused(let name, let message):
            switch name {
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
                self = .noPortal
            case "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface",
                "org.freedesktop.DBus.Error.UnknownObject":
                self = .noScreenshots
            case "org.freedesktop.portal.Error.NotAllowed", "org.freedesktop.portal.Error.Cancelled": self = .declined
            default: self = .failed(message.isEmpty ? name : message)
            }
        case .timedOut: self = .failed("the desktop's portal does not answer")
        case .disconnected: self = .failed("the session bus went away")
        case .cancelled: self = .interrupted
        case .malformed(let reason): self = .failed(reason)
        }
    }
}
