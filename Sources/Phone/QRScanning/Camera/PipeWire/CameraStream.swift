// SPDX-License-Identifier: Apache-2.0

internal import CHybridPipeWire

/// A stream of frames from one camera, which ends with the object.
final class CameraStream {
    /// A state of the stream.
    enum State: Hashable {
        /// The session has not connected it, or the camera has not started.
        case waiting
        case streaming
        /// It was streaming, and is no more.
        case ended
        /// The daemon or the session has reported a failure.
        case failed(String)
    }

    /// A frame that is wanted.
    enum Wish: Hashable {
        /// None: buffers are given back at once.
        case nothing
        /// The next one; the brightness is enough.
        case brightness
        /// The next one with its colors.
        case colors
    }

    private(set) var state = State.waiting
    /// The frame that is wanted.
    var wish = Wish.nothing
    /// The flaw of the last frame that was skipped.
    private(set) var lastFlaw: FrameLayout.Flaw?

    private let connection: PipeWireConnection
    private let stream: OpaquePointer
    private let hook: UnsafeMutablePointer<spa_hook>
    private let events: UnsafeMutablePointer<hybrid_stream_events>
    private var format: CameraFormat?
    /// The frame that was wanted, until it is taken.
    private var frame: Result<CapturedFrame, CameraError>?

    /// Memory for parameters of a stream, which the library copies.
    private typealias Parameters = UnsafeMutablePointer<UnsafePointer<spa_pod>?>
    private static let parameterBytes = 4096

    /// Connects to a camera.
    ///
    /// - Throws: ``CameraError``.
    init(_ connection: PipeWireConnection, _ camera: CameraNode) throws(CameraError) {
        let functions = connection.functions
        // The serial number is digits only.
        let properties = functions.pointee.pw_properties_new_string(
            "media.type=Video media.category=Capture media.role=Camera target.object=\(camera.serial)"
        )
        guard let stream = functions.pointee.pw_stream_new(connection.core, "hybrid-camera", properties) else {
            throw .picture(.outOfMemory)
        }
        (self.connection, self.stream) = (connection, stream)
        hook = .allocate(capacity: 1)
        hook.initialize(to: spa_hook())
        events = .allocate(capacity: 1)
        events.initialize(to: hybrid_stream_events())
        events.pointee.version = UInt32(HYBRID_STREAM_EVENTS_VERSION)
        events.pointee.state_changed = { data, _, state, error in
            CameraStream.of(data)?.change(to: state, error.map { String(cString: $0) })
        }
        events.pointee.param_changed = { data, id, param in
            if id == SPA_PARAM_Format.rawValue { CameraStream.of(data)?.agree(on: param) }
        }
        events.pointee.process = { data in CameraStream.of(data)?.process() }
        functions.pointee.pw_stream_add_listener(stream, hook, events, Unmanaged.passUnretained(self).toOpaque())
        let formats = PixelFormat.allCases.map(\.identifier)
        let code = Self.withParameters(HYBRID_FORMAT_PARAMS) { memory, parameters -> CInt in
            guard hybrid_build_formats(memory, UInt32(Self.parameterBytes), formats, UInt32(formats.count), parameters)
            else {
                return -1
            }
            return functions.pointee.pw_stream_connect(
                stream,
                SPA_DIRECTION_INPUT,
                UInt32.max,
                CInt(HYBRID_STREAM_FLAGS),
                parameters,
                UInt32(HYBRID_FORMAT_PARAMS)
            )
        }
        if code < 0 { state = .failed("the stream can't be connected") }
    }

    deinit {
        hybrid_hook_remove(hook)
        connection.functions.pointee.pw_stream_destroy(stream)
        hook.deallocate()
        events.deallocate()
    }

    private static func of(_ data: UnsafeMutableRawPointer?) -> CameraStream? {
        data.map { Unmanaged<CameraStream>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func withParameters<Result>(
        _ count: Int,
        _ body: (UnsafeMutableRawPointer, Parameters) -> Result
    ) -> Result {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: parameterBytes, alignment: 16)
        let parameters = Parameters.allocate(capacity: count)
        parameters.initialize(repeating: nil, count: count)
        defer {
            memory.deallocate()
            parameters.deallocate()
        }
        return body(memory, parameters)
    }

    // MARK: - Events

    private func change(to state: CInt, _ error: String?) {
        switch Int(state) {
        case HYBRID_STREAM_STREAMING: self.state = .streaming
        case HYBRID_STREAM_ERROR: self.state = .failed(error ?? "it failed")
        default: if self.state == .streaming { self.state = .ended }
        }
    }

    private func agree(on parameter: UnsafePointer<spa_pod>?) {
        format = nil
        guard let parameter else { return }
        var agreed = hybrid_video_format()
        guard hybrid_read_format(parameter, &agreed) else { return }
        format = CameraFormat(agreed)
        Self.withParameters(HYBRID_BUFFER_PARAMS) { memory, parameters in
            guard hybrid_build_buffers(memory, UInt32(Self.parameterBytes), parameters) else { return }
            _ = connection.functions.pointee.pw_stream_update_params(stream, parameters, UInt32(HYBRID_BUFFER_PARAMS))
        }
    }

    /// Copies the newest frame if it is wanted, and gives all buffers back, because cameras have few.
    private func process() {
        var newest: UnsafeMutablePointer<hybrid_buffer>?
        while let buffer = connection.functions.pointee.pw_stream_dequeue_buffer(stream) {
            newest.map(giveBack)
            newest = buffer
        }
        guard let newest else { return }
        defer { giveBack(newest) }
        guard wish != .nothing, let format, let buffer = newest.pointee.buffer else { return }
        do throws(SharedFrame.Failure) {
            frame = .success(try SharedFrame(buffer).copy(format, hasColors: wish == .colors))
            wish = .nothing
        } catch {
            switch error {
            case .flaw(let flaw): lastFlaw = flaw
            case .picture(let error): frame = .failure(.picture(error))
            }
        }
    }

    private func giveBack(_ buffer: UnsafeMutablePointer<hybrid_buffer>) {
        _ = connection.functions.pointee.pw_stream_queue_buffer(stream, buffer)
    }

    // MARK: - Frames

    /// Returns the frame that was wanted, once; `nil` if there is none yet.
    ///
    /// - Throws: ``CameraError`` if there is not enough memory.
    func takeFrame() throws(CameraError) -> CapturedFrame? {
        defer { frame = nil }
        return try frame?.get()
    }
}
