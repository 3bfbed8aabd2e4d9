// SPDX-License-Identifier: Apache-2.0

internal import CHybridPipeWire

/// The cameras that the daemon has, kept up to date.
///
/// The registry does not have all properties of a node, such as its location. So each node is bound, and its own are read.
final class CameraNodes {
    /// Maximum number of nodes that are looked at.
    private static let maximumNodes = 64
    /// Synchronizations after a new node: its binding, its properties, its formats.
    private static let requiredRounds = 3

    private final class Bound {
        unowned let owner: CameraNodes
        let connection: PipeWireConnection
        let proxy: OpaquePointer
        let hook: UnsafeMutablePointer<spa_hook>
        var properties: [String: String] = [:]
        var hasFormats = false
        var hasColor = false

        init(_ owner: CameraNodes, _ proxy: OpaquePointer) {
            (self.owner, connection, self.proxy) = (owner, owner.connection, proxy)
            hook = .allocate(capacity: 1)
            hook.initialize(to: spa_hook())
            hybrid_node_listen(proxy, hook, owner.nodeEvents, Unmanaged.passUnretained(self).toOpaque())
            hybrid_node_ask_formats(proxy)
        }

        deinit {
            hybrid_hook_remove(hook)
            connection.functions.pointee.pw_proxy_destroy(proxy)
            hook.deallocate()
        }

        static func of(_ data: UnsafeMutableRawPointer?) -> Bound? {
            data.map { Unmanaged<Bound>.fromOpaque($0).takeUnretainedValue() }
        }
    }

    /// The cameras, as soon as all nodes are known, and again after each change.
    private(set) var cameras: [CameraNode]?

    /// True if everything about the present nodes is known.
    var isSettled: Bool { rounds >= Self.requiredRounds }

    fileprivate let connection: PipeWireConnection
    fileprivate let nodeEvents: UnsafeMutablePointer<hybrid_node_events>
    private let registry: OpaquePointer
    private let registryEvents: UnsafeMutablePointer<hybrid_registry_events>
    private let hook: UnsafeMutablePointer<spa_hook>
    private var nodes: [UInt32: Bound] = [:]
    private var rounds = 0
    private var pending: CInt = 0

    /// Begins to follow the cameras of a connection.
    ///
    /// - Throws: ``CameraError``.
    init(_ connection: PipeWireConnection) throws(CameraError) {
        guard let registry = hybrid_core_registry(connection.core) else { throw .noPipeWire("it has no registry") }
        (self.connection, self.registry) = (connection, registry)
        hook = .allocate(capacity: 1)
        hook.initialize(to: spa_hook())
        nodeEvents = .allocate(capacity: 1)
        nodeEvents.initialize(to: hybrid_node_events())
        registryEvents = .allocate(capacity: 1)
        registryEvents.initialize(to: hybrid_registry_events())
        nodeEvents.pointee.info = { data, info in
            guard let node = Bound.of(data), let properties = info?.pointee.props else { return }
            node.properties.merge(CameraNodes.dictionary(properties)) { $1 }
            node.owner.change()
        }
        nodeEvents.pointee.param = { data, _, id, _, _, param in
            guard let node = Bound.of(data), id == SPA_PARAM_EnumFormat.rawValue, let param else { return }
            node.hasFormats = true
            if hybrid_format_has_color(param) { node.hasColor = true }
            node.owner.change()
        }
        registryEvents.pointee.global = { data, id, _, type, _, properties in
            guard let type, let properties, hybrid_is_node(type) else { return }
            CameraNodes.of(data)?.add(id, CameraNodes.dictionary(properties))
        }
        registryEvents.pointee.global_remove = { data, id in CameraNodes.of(data)?.remove(id) }
        hybrid_registry_listen(registry, hook, registryEvents, Unmanaged.passUnretained(self).toOpaque())
        connection.onDone = { [unowned self] number in done(number) }
        settle()
    }

    deinit {
        connection.onDone = nil
        nodes = [:]
        hybrid_hook_remove(hook)
        connection.functions.pointee.pw_proxy_destroy(registry)
        hook.deallocate()
        registryEvents.deallocate()
        nodeEvents.deallocate()
    }

    private static func of(_ data: UnsafeMutableRawPointer?) -> CameraNodes? {
        data.map { Unmanaged<CameraNodes>.fromOpaque($0).takeUnretainedValue() }
    }

    private func add(_ id: UInt32, _ properties: [String: String]) {
        guard properties["media.class"] == "Video/Source", nodes.count < Self.maximumNodes,
            let proxy = hybrid_registry_bind_node(registry, id)
        else {
            return
        }
        nodes[id] = Bound(self, proxy)
        settle()
    }

    private func remove(_ id: UInt32) {
        if nodes.removeValue(forKey: id) != nil { change() }
    }

    /// Waits again until everything about the nodes is known.
    private func settle() {
        rounds = 0
        pending = connection.synchronize()
    }

    private func done(_ number: CInt) {
        guard number == pending else { return }
        rounds += 1
        guard isSettled else {
            pending = connection.synchronize()
            return
        }
        publish()
    }

    private func change() {
        if isSettled { publish() }
    }

    private func publish() {
        cameras = nodes.values
            .compactMap { CameraNode($0.properties, isGrayOnly: $0.hasFormats && !$0.hasColor) }
            .sorted { $0.serial < $1.serial }
    }

    /// Returns the entries of a dictionary.
    private static func dictionary(_ dictionary: UnsafePointer<spa_dict>) -> [String: String] {
        var entries: [String: String] = [:]
        for item in UnsafeBufferPointer(start: dictionary.pointee.items, count: Int(dictionary.pointee.n_items)) {
            guard let key = item.key, let value = item.value else { continue }
            entries[String(cString: key)] = String(cString: value)
        }
        return entries
    }
}
