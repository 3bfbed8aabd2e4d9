// SPDX-License-Identifier: Apache-2.0

internal import CHybridPipeWire
private import Glibc

/// A frame in memory that it shares with the camera, which is another program and may change it at any time.
///
/// Each number is read once, and pixels are used only after they were copied. Nothing that the camera does to a file of memory,
/// such as truncating it, can end this program: the file is read instead of its mapping.
struct SharedFrame {
    /// A reason why there is no copy.
    enum Failure: Error {
        case flaw(FrameLayout.Flaw)
        case picture(PictureError)
    }

    /// Maximum number of blocks, one for each plane.
    private static let maximumBlocks = 4

    private let buffer: UnsafePointer<spa_buffer>
    private let data: UnsafeBufferPointer<spa_data>
    private let blocks: [FrameLayout.Block]
    private let isCorrupted: Bool

    /// Reads the descriptions of the frame's memory.
    init(_ buffer: UnsafePointer<spa_buffer>) {
        self.buffer = buffer
        let count = min(Int(buffer.pointee.n_datas), Self.maximumBlocks)
        data = UnsafeBufferPointer(start: buffer.pointee.datas, count: buffer.pointee.datas == nil ? 0 : count)
        var (blocks, isCorrupted): ([FrameLayout.Block], Bool) = ([], hybrid_is_corrupted(buffer))
        for index in data.indices {
            let chunk = withUnsafePointer(to: data[index]) { hybrid_read_chunk($0) }
            isCorrupted = isCorrupted || chunk.is_corrupted
            let block = FrameLayout.Block(
                maximum: Int(data[index].maxsize),
                offset: Int(chunk.offset),
                size: Int(chunk.size),
                stride: Int(chunk.stride)
            )
            blocks.append(block)
        }
        (self.blocks, self.isCorrupted) = (blocks, isCorrupted)
    }

    /// Copies the frame, and planes with colors only if they are wanted.
    func copy(_ format: CameraFormat, hasColors: Bool) throws(Failure) -> CapturedFrame {
        guard !isCorrupted else { throw .flaw(.corrupted) }
        guard let pixels = format.pixels else { return try copyPicture(format) }
        let layout: FrameLayout
        do throws(FrameLayout.Flaw) {
            layout = try FrameLayout(
                pixels,
                width: format.width,
                height: format.height,
                blocks: blocks,
                hasColors: hasColors
            )
        } catch {
            throw .flaw(error)
        }
        // The planes of a block are copied with what lies between them.
        var lengths = [Int](repeating: 0, count: blocks.count)
        for plane in [layout.first] + layout.colors { lengths[plane.block] = max(lengths[plane.block], plane.end) }
        var (offsets, count): ([Int], Int) = ([], 0)
        for length in lengths {
            offsets.append(count)
            count += length
        }
        guard count <= CameraFrame.maximumBytes else { throw .flaw(.size) }
        return try frame(.samples(layout, offsets: offsets), count) { target in
            for (index, length) in lengths.enumerated() where length > 0 {
                let part = UnsafeMutableBufferPointer(rebasing: target[offsets[index]..<offsets[index] + length])
                guard read(index, to: part) else { return false }
            }
            return true
        }
    }

    private func copyPicture(_ format: CameraFormat) throws(Failure) -> CapturedFrame {
        guard let block = blocks.first else { throw .flaw(.outside) }
        do throws(FrameLayout.Flaw) {
            let range = try FrameLayout.range(of: block)
            guard !range.isEmpty else { throw .short }
            guard range.count <= CameraFrame.maximumBytes else { throw .size }
        } catch {
            throw .flaw(error)
        }
        return try frame(.jpeg(width: format.width, height: format.height), block.size) { read(0, to: $0) }
    }

    private func frame(
        _ content: CapturedFrame.Content,
        _ count: Int,
        _ read: (UnsafeMutableBufferPointer<UInt8>) -> Bool
    ) throws(Failure) -> CapturedFrame {
        var isRead = false
        let frame: CapturedFrame
        do throws(PictureError) {
            frame = try CapturedFrame(content, count: count, orientation: orientation) { isRead = read($0) }
        } catch {
            throw .picture(error)
        }
        guard isRead else { throw .flaw(.unreadable) }
        return frame
    }

    /// The transformation that the frame states.
    private var orientation: CapturedFrame.Orientation? {
        let value = Int(hybrid_transformation(buffer))
        guard value >= 0 else { return nil }
        return CapturedFrame.Orientation(quarterTurns: value % 4, isFlipped: value >= 4)
    }

    /// Copies the beginning of a block's data.
    private func read(_ index: Int, to target: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        let block = data[index]
        let offset = blocks[index].offset
        switch block.type {
        case SPA_DATA_MemFd.rawValue: return readFile(block, offset, to: target)
        case SPA_DATA_DmaBuf.rawValue:
            let descriptor = CInt(truncatingIfNeeded: block.fd)
            guard lseek(descriptor, 0, SEEK_END) >= Int(block.mapoffset) + Int(block.maxsize) else { return false }
            // Drivers whose memory needs no synchronization may lack it.
            let isSynchronized = hybrid_dma_sync(descriptor, true)
            // Only a device's memory knows this request. A file that claims to be some could be truncated while it is mapped.
            if !isSynchronized, errno == ENOTTY { return readFile(block, offset, to: target) }
            defer { if isSynchronized { _ = hybrid_dma_sync(descriptor, false) } }
            return readMapping(block, offset, to: target)
        default: return readMapping(block, offset, to: target)
        }
    }

    private func readFile(_ block: spa_data, _ offset: Int, to target: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        let descriptor = CInt(truncatingIfNeeded: block.fd)
        var status = stat()
        // A device can be mapped only, and cannot be truncated.
        guard fstat(descriptor, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFREG else { return readMapping(block, offset, to: target) }
        var length = 0
        while length < target.count {
            let free = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(target)[length...])
            let position = Int(block.mapoffset) + offset + length
            let count = pread(descriptor, free.baseAddress, free.count, position)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            length += count
        }
        return true
    }

    private func readMapping(_ block: spa_data, _ offset: Int, to target: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        guard let start = block.data else { return false }
        UnsafeMutableRawBufferPointer(target).copyMemory(
            from: UnsafeRawBufferPointer(start: start + offset, count: target.count)
        )
        return true
    }
}
