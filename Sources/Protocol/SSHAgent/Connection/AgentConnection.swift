// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Keys and lock of the agent, shared by its connections.
public struct AgentState: Sendable {
    /// The keys that the agent offers; the first 64 are used.
    public var keys: [AgentKey]
    /// The lock.
    public var lock = AgentLock()

    /// Creates an open agent with these keys.
    public init(keys: [AgentKey]) { self.keys = keys }

    /// Maximum number of keys, which bounds the length of an answer.
    static let maximumKeys = 64
    /// The keys in use.
    var usedKeys: ArraySlice<AgentKey> { keys.prefix(Self.maximumKeys) }
}

/// One connection to the agent: received bytes in, answers and sign requests out.
///
/// Its owner passes received bytes to ``receive(_:)``, at most ``capacity``, then calls ``next(_:at:)`` until it
/// returns `nil`, and sends each answer before the next call. While a signature is pending, further requests wait:
///
///     try connection.receive(bytes)
///     while let action = try connection.next(&state, at: .now) {
///         switch action {
///         case .reply(let reply): try await send(reply)
///         case .sign(let request): start(request)
///         }
///     }
public struct AgentConnection: Sendable {
    /// An order to the owner of the connection.
    public enum Action: Hashable, Sendable {
        /// Sends an answer after its delay.
        case reply(AgentReply)
        /// Asks for a signature; ``AgentConnection/complete(_:with:otherwise:)`` takes the result.
        case sign(SignRequest)
        /// Asks for the response to a website on another host; ``AgentConnection/complete(_:with:)`` takes the answer.
        case remote(RemoteRequest)
    }

    /// The request that waits for its answer.
    private enum Pending {
        case signature(SignRequest)
        case remote(SignRequest.ID)

        var id: SignRequest.ID {
            switch self {
            case .signature(let request): request.id
            case .remote(let id): id
            }
        }
    }

    private var reader = AgentMessageReader()
    private var bindings: SessionBindings
    private let socketName: String?
    private var pending: Pending?
    private var lastNumber: UInt64 = 0
    private var isClosed = false

    /// Creates a connection that has not received anything.
    ///
    /// - Parameters:
    ///   - isRestricted: True for a connection of a socket that is only for forwarding. It counts as forwarded: each login
    ///     must be bound to its session and name the server's key, and messages need a key that allows them. It can't lock
    ///     or unlock the agent.
    ///   - socketName: The name of a socket that websites may use without the proof of a host; `nil` for none.
    public init(isRestricted: Bool = false, socketName: String? = nil) {
        bindings = SessionBindings(isRestricted: isRestricted)
        self.socketName = socketName
    }

    /// The number of bytes that ``receive(_:)`` accepts now.
    ///
    /// It is 0 if a request of maximum length waits for a pending signature.
    public var capacity: Int { reader.capacity }

    /// The fingerprint of the nearest host to which the agent is forwarded; `nil` unless a binding proves it.
    public var forwardingHost: SSHFingerprint? {
        bindings.list.first.flatMap { $0.isForwarded ? $0.hostKey.fingerprint : nil }
    }

    /// The session of the first binding; `nil` before it.
    public var firstSession: SSHSessionID? { bindings.list.first?.sessionID }

    /// Appends received bytes, in pieces of any length.
    ///
    /// - Throws: ``AgentProtocolError``; the connection must be closed.
    public mutating func receive(_ bytes: some Collection<UInt8>) throws(AgentProtocolError) {
        try reader.append(bytes)
    }

    /// Processes the next complete request.
    ///
    /// - Parameters:
    ///   - state: Keys and lock, which all connections share.
    ///   - now: The current time, for the delays of the lock.
    /// - Returns: `nil` if there is no complete request, a signature is pending, or the connection is closed.
    /// - Throws: ``AgentProtocolError``; the connection must be closed.
    public mutating func next(
        _ state: inout AgentState,
        at now: ContinuousClock.Instant
    ) throws(AgentProtocolError) -> Action? {
        guard pending == nil, !isClosed, var message = try reader.next() else { return nil }
        defer { SecretBytes.wipe(&message) }
        switch AgentRequest(parsing: message) {
        case .identities: return .reply(.identities(identities(state)))
        case .sign(let key, let data, let flags):
            do throws(AgentRefusal) {
                return .sign(try signRequest(key, data, flags, state))
            } catch {
                return .reply(.failure(error))
            }
        case .bindSession(let request): return .reply(bind(request))
        case .malformedBinding(let error):
            bindings.fail()
            return .reply(.extensionFailure(.binding(error)))
        case .queryExtensions: return .reply(.extensions)
        case .remote(let message): return remoteRequest(message, state)
        case .lock where bindings.isRestricted, .unlock where bindings.isRestricted: return .reply(.failure)
        case .lock(let passphrase): return .reply(state.lock.lock(passphrase) ? .success : .failure)
        case .unlock(let passphrase):
            return .reply(state.lock.unlock(passphrase, at: now).map { .failure(delay: $0) } ?? .success)
        case .unsupported: return .reply(.failure)
        }
    }

    /// Ends the pending signature.
    ///
    /// - Parameters:
    ///   - id: The identifier of the request.
    ///   - signature: The signature; `nil` if none was made.
    ///   - refusal: The reason why none was made.
    /// - Returns: The answer, or `nil` if this request is not pending, for example because the client has left. A
    ///   signature of another request is answered with a failure.
    public mutating func complete(
        _ id: SignRequest.ID,
        with signature: SSHSignature?,
        otherwise refusal: AgentRefusal = .notSigned
    ) -> AgentReply? {
        guard case .signature(let request)? = pending, request.id == id else { return nil }
        pending = nil
        guard let signature, signature.data == request.data, signature.key == request.key.publicKey else {
            return .failure(refusal)
        }
        return .signature(signature)
    }

    /// Ends the pending request of a website.
    ///
    /// - Parameters:
    ///   - id: The identifier of the request.
    ///   - answer: The answer for the other host.
    /// - Returns: The answer, or `nil` if this request is not pending, for example because the client has left.
    public mutating func complete(_ id: SignRequest.ID, with answer: RemoteAnswer) -> AgentReply? {
        guard case .remote(id)? = pending else { return nil }
        pending = nil
        return .remote(answer)
    }

    /// Records that the client has left.
    ///
    /// - Returns: The pending request, whose prompt must be closed.
    public mutating func close() -> SignRequest.ID? {
        isClosed = true
        defer { pending = nil }
        return pending?.id
    }

    private func identities(_ state: AgentState) -> [AgentKey] {
        state.lock.isLocked ? [] : state.usedKeys.filter { $0.isVisible(bindings) }
    }

    private mutating func bind(_ request: SessionBindRequest) -> AgentReply {
        // Also while the agent is locked: otherwise a connection would seem to be local after it is unlocked.
        do throws(SessionBindingError) {
            try bindings.bind(request)
            return .success
        } catch {
            return .extensionFailure(.binding(error))
        }
    }

    private mutating func signRequest(
        _ blob: [UInt8],
        _ bytes: [UInt8],
        _ flags: UInt32,
        _ state: AgentState
    ) throws(AgentRefusal) -> SignRequest {
        guard !state.lock.isLocked else { throw .locked }
        guard let key = state.usedKeys.first(where: { $0.publicKey.encoded == blob }) else { throw .unknownKey }
        guard key.isVisible(bindings) else { throw .destination }
        guard flags == 0 else { throw .signatureFlags }
        let data: SignedData
        do throws(SignedDataError) {
            data = try SignedData(parsing: bytes, for: key.publicKey)
        } catch {
            throw .data(error)
        }
        let purpose = try bindings.check(data, for: key)
        let request = SignRequest(
            id: nextID(),
            key: key,
            data: data,
            purpose: purpose,
            isForwarded: bindings.isRestricted || !purpose.via.isEmpty
        )
        pending = .signature(request)
        return request
    }

    private mutating func remoteRequest(_ message: [UInt8], _ state: AgentState) -> Action {
        do throws(AgentRefusal) {
            guard !state.lock.isLocked else { throw .locked }
            let origin = try bindings.remoteOrigin(socketName)
            let request = RemoteRequest(id: nextID(), origin: origin, message: message)
            pending = .remote(request.id)
            return .remote(request)
        } catch {
            guard error != .bindingFailed else { return .reply(.extensionFailure(error)) }
            // The other host must not learn the reason.
            return .reply(.remote(.failure(.init(.refused)), refusal: error))
        }
    }

    private mutating func nextID() -> SignRequest.ID {
        lastNumber += 1
        return SignRequest.ID(number: lastNumber)
    }
}
