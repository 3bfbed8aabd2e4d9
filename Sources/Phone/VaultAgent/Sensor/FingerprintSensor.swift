// SPDX-License-Identifier: Apache-2.0

package import HybridDBus
internal import HybridPrimitives

/// The fingerprint sensor of fprintd (`net.reactivated.Fprint`) on the system bus.
///
/// fprintd is started by the first call and identified by its unique name from then on. Calls go to that name, and only
/// its signals count: any program on the bus can send a signal with the same contents.
package struct FingerprintSensor: Sendable {
    static let name = "net.reactivated.Fprint"
    static let managerPath = "/net/reactivated/Fprint/Manager"
    static let managerInterface = "net.reactivated.Fprint.Manager"
    static let deviceInterface = "net.reactivated.Fprint.Device"

    /// Progress of a verification.
    package typealias Event = FingerprintEvent

    private let connection: BusConnection
    /// The unique name of fprintd.
    private let owner: String
    /// The path of the device.
    private let device: String

    /// True if the bus is verified as the system's own.
    package var isOnSystemBus: Bool { connection.isSystemBus }

    private init(connection: BusConnection, owner: String, device: String) {
        self.connection = connection
        self.owner = owner
        self.device = device
    }

    /// Connects to fprintd, runs `body` with its default device, and closes the connection.
    ///
    /// - Throws: ``FingerprintFailure``.
    package static func open<Result: Sendable>(
        on address: BusAddress = .system,
        _ body: (FingerprintSensor) async throws(FingerprintFailure) -> Result
    ) async throws(FingerprintFailure) -> Result {
        try await BusConnection.with(
            address,
            unreachable: FingerprintFailure.serviceMissing,
            cancelled: .cancelled
        ) { connection throws(FingerprintFailure) in
            let (owner, device): (String, String)
            do throws(BusError) {
                let reply = try await connection.call(name, managerPath, managerInterface, "GetDefaultDevice")
                guard let path = reply.first?.text, let unique = try await connection.owner(of: name) else {
                    throw .disconnected
                }
                (owner, device) = (unique, path)
            } catch {
                throw FingerprintFailure(error)
            }
            return try await body(FingerprintSensor(connection: connection, owner: owner, device: device))
        }
    }

    /// Returns the enrolled fingers of this user by fprintd's names, sorted; at least one.
    func enrolledFingers() async throws(FingerprintFailure) -> [String] {
        let reply = try await call("ListEnrolledFingers", [.string("")])
        guard case .array(_, let names)? = reply.first?.unwrapped else { throw .sensorError }
        // fprintd knows ten fingers.
        let fingers = names.compactMap(\.text)
        guard !fingers.isEmpty else { throw .noEnrolledPrints }
        guard fingers.count <= FingerList.maximumCount else { throw .sensorError }
        return fingers.sorted()
    }

    /// The name of the device, without characters that could deceive; `nil` if it is unknown.
    func deviceName() async -> String? {
        let reply = try? await connection.call(
            owner,
            device,
            BusNames.properties,
            "Get",
            [.string(Self.deviceInterface), .string("name")]
        )
        return reply?.first?.text.map { String(SafeText(quoting: $0).description.dropFirst().dropLast()) }
    }

    /// Claims the device, runs `body`, and releases the device in every case.
    func whileClaimed<Result: Sendable>(
        _ body: (FingerprintSensor) async throws(FingerprintFailure) -> Result
    ) async throws(FingerprintFailure) -> Result {
        // Not cancellable: a claim whose reply is not awaited could not be released.
        try await call("Claim", [.string("")], cancellable: false)
        return try await withCleanup {
            _ = try? await call("Release", cancellable: false)
        } of: { () throws(FingerprintFailure) in
            if Task.isCancelled { throw .cancelled }
            return try await body(self)
        }
    }

    /// Verifies any enrolled finger, in at most three attempts; the device must be claimed.
    ///
    /// - Parameters:
    ///   - timeout: The time for all attempts.
    ///   - report: Called with the progress; returns false to end the verification.
    /// - Throws: ``FingerprintFailure``; ``FingerprintFailure/tooManyMisses`` after three attempts.
    func verify(
        timeout: Duration,
        _ report: @Sendable (Event) -> Bool
    ) async throws(FingerprintFailure) {
        let (signals, continuation) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingNewest(64))
        let observation = try await observe(continuation)
        let limit = Task {
            try? await Task.sleep(for: timeout)
            continuation.yield(.timeout)
        }
        try await withCleanup {
            limit.cancel()
            connection.stopObserving(observation)
            _ = try? await call("VerifyStop", cancellable: false)
        } of: { () throws(FingerprintFailure) in
            try await run(signals, report)
        }
    }

    private func run(
        _ signals: AsyncStream<Signal>,
        _ report: @Sendable (Event) -> Bool
    ) async throws(FingerprintFailure) {
        var verification = FingerVerification()
        try await call("VerifyStart", [.string("any")], cancellable: false)
        guard report(.waiting) else { throw .cancelled }
        for await signal in signals {
            switch signal {
            case .timeout: throw .timedOut
            case .gone: throw .disconnected
            case .status(let result, let isDone):
                switch verification.handle(result, isDone: isDone) {
                case .match: return
                case .retry: guard report(.retry) else { throw .cancelled }
                case .ignore: break
                case .fail(let failure): throw failure
                case .miss(let again):
                    guard report(.miss), again else { throw .tooManyMisses }
                    try await call("VerifyStop", cancellable: false)
                    try await call("VerifyStart", [.string("any")], cancellable: false)
                    guard report(.waiting) else { throw .cancelled }
                }
            }
        }
        throw .cancelled
    }

    private enum Signal: Sendable {
        case status(String, isDone: Bool)
        case timeout
        case gone
    }

    private func observe(
        _ continuation: AsyncStream<Signal>.Continuation
    ) async throws(FingerprintFailure) -> BusConnection.Observation {
        let (owner, device) = (owner, device)
        let rules = [
            "type='signal',sender='\(owner)',interface='\(Self.deviceInterface)',member='VerifyStatus',path='\(device)'",
            "type='signal',sender='\(BusNames.daemon)',interface='\(BusNames.daemon)',member='NameOwnerChanged',"
                + "arg0='\(Self.name)'",
        ]
        do throws(BusError) {
            return try await connection.observe(rules) { event in
                guard case .signal(let message) = event else {
                    continuation.yield(.gone)
                    return
                }
                if message.isSignal(BusNames.daemon, "NameOwnerChanged"), message.sender == BusNames.daemon {
                    if message.body.first?.text == Self.name { continuation.yield(.gone) }
                    return
                }
                // A match rule does not keep out signals that a program sends to this connection directly.
                guard message.sender == owner, message.path == device,
                    message.isSignal(Self.deviceInterface, "VerifyStatus"), message.body.count == 2,
                    let result = message.body[0].text, let isDone = message.body[1].flag
                else { return }
                continuation.yield(.status(result, isDone: isDone))
            }
        } catch {
            throw FingerprintFailure(error)
        }
    }

    @discardableResult
    private func call(
        _ member: String,
        _ arguments: [BusValue] = [],
        cancellable: Bool = true
    ) async throws(FingerprintFailure) -> [BusValue] {
        do throws(BusError) {
            return try await connection.call(
                owner,
                device,
                Self.deviceInterface,
                member,
                arguments,
                cancellable: cancellable
            )
        } catch {
            throw FingerprintFailure(error)
        }
    }
}

extension FingerprintFailure {
    /// Creates the failure of a call to fprintd.
    init(_ error: BusError) {
        switch error {
        case .cancelled: self = .cancelled
        case .notReachable: self = .serviceMissing
        case .timedOut, .malformed: self = .sensorError
        case .disconnected: self = .disconnected
        case .refused(let name, _):
            let prefix = FingerprintSensor.name + ".Error."
            switch name {
            case prefix + "NoSuchDevice": self = .noDevice
            case prefix + "AlreadyInUse", prefix + "ClaimDevice": self = .inUse
            case prefix + "NoEnrolledPrints": self = .noEnrolledPrints
            case prefix + "PermissionDenied", "org.freedesktop.DBus.Error.AccessDenied": self = .permissionDenied
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.DBus.Error.Spawn.ChildExited", "org.freedesktop.DBus.Error.Spawn.ServiceNotFound":
                self = .serviceMissing
            case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.UnknownObject",
                "org.freedesktop.DBus.Error.UnknownMethod":
                self = .disconnected
            default: self = .sensorError
            }
        }
    }
}

/// The state of the sensor, for status reports.
package struct FingerprintSensorStatus: Sendable {
    /// The reason why no finger can be verified; `nil` if one can.
    package let failure: FingerprintFailure?
    /// The name of the device, made safe; `nil` if there is none.
    package let device: String?
    /// The enrolled fingers of this user by fprintd's names, sorted.
    package let fingers: [String]
}

extension FingerprintSensor {
    /// Returns the state of the sensor; the device is not claimed.
    package static func status(on address: BusAddress = .system) async -> FingerprintSensorStatus {
        do throws(FingerprintFailure) {
            return try await open(on: address) { sensor async in
                let name = await sensor.deviceName()
                do throws(FingerprintFailure) {
                    let fingers = try await sensor.enrolledFingers()
                    return FingerprintSensorStatus(failure: nil, device: name, fingers: fingers)
                } catch {
                    return FingerprintSensorStatus(failure: error, device: name, fingers: [])
                }
            }
        } catch {
            return FingerprintSensorStatus(failure: error, device: nil, fingers: [])
        }
    }
}
