// SPDX-License-Identifier: Apache-2.0

/// The positions of a frame's samples in the memory of a camera, computed from what the camera says about that memory.
///
/// A camera is another program, so none of its numbers is trusted: a layout exists only if all its samples are in the memory.
struct FrameLayout: Hashable, Sendable {
    /// One block of memory, as the camera describes it.
    struct Block: Hashable, Sendable {
        /// Size of the memory in bytes.
        var maximum: Int
        /// Start of the data in bytes.
        var offset: Int
        /// Size of the data in bytes.
        var size: Int
        /// Bytes from one row to the next; 0 if rows follow each other without gaps.
        var stride: Int
    }

    /// A plane of samples.
    struct Plane: Hashable, Sendable {
        /// Index of the block.
        let block: Int
        /// Position of the first sample from the start of the block's data.
        let start: Int
        /// Bytes from one row to the next.
        let stride: Int
        /// Bytes of a row that have samples.
        let rowBytes: Int
        /// Number of rows.
        let rows: Int

        /// Position of the first byte after the plane; padding after the last row may be missing.
        var end: Int { start + stride * (rows - 1) + rowBytes }
    }

    /// A reason why a frame is skipped.
    enum Flaw: String, Error, Hashable, Sendable {
        case corrupted = "it is marked as damaged"
        case size = "its size is out of bounds"
        case outside = "its data are outside its memory"
        case stride = "its rows overlap"
        case short = "it is incomplete"
        case unreadable = "its memory can't be read"
    }

    let format: PixelFormat
    let width: Int
    let height: Int
    /// The plane with luma or with all colors.
    let first: Plane
    /// The planes with colors, in the order of the memory; empty if there are none, or if they are outside the memory.
    let colors: [Plane]

    /// Creates the layout of a frame.
    ///
    /// - Parameters:
    ///   - format: The format on which both sides have agreed.
    ///   - width: The agreed width.
    ///   - height: The agreed height.
    ///   - blocks: The blocks of memory; planes are in one block each, or all in the first.
    ///   - hasColors: False to leave out planes with colors.
    init(
        _ format: PixelFormat,
        width: Int,
        height: Int,
        blocks: [Block],
        hasColors: Bool = true
    ) throws(Flaw) {
        guard (1...CodeSearch.longestSide).contains(width), (1...CodeSearch.longestSide).contains(height) else {
            throw .size
        }
        guard let block = blocks.first else { throw .outside }
        self.format = format
        self.width = width
        self.height = height
        first = try Self.plane(block, 0, rowBytes: format.rowBytes(width: width), rows: height)
        colors = hasColors ? Self.colorPlanes(format, width: width, height: height, first: first, blocks) : []
    }

    /// Returns the range of a block's data.
    static func range(of block: Block) throws(Flaw) -> Range<Int> {
        guard block.offset >= 0, block.size >= 0, block.maximum >= 0 else { throw .outside }
        let (end, isOver) = block.offset.addingReportingOverflow(block.size)
        guard !isOver, end <= block.maximum else { throw .outside }
        return block.offset..<end
    }

    /// Returns a plane that begins with the block's data.
    private static func plane(_ block: Block, _ index: Int, rowBytes: Int, rows: Int) throws(Flaw) -> Plane {
        let data = try range(of: block)
        let stride = block.stride == 0 ? rowBytes : block.stride
        guard stride >= rowBytes, stride <= CameraFrame.maximumBytes else { throw .stride }
        let plane = Plane(block: index, start: 0, stride: stride, rowBytes: rowBytes, rows: rows)
        guard plane.end <= data.count else { throw .short }
        return plane
    }

    /// Returns the planes with colors; none if they are missing, because the luma alone is enough.
    private static func colorPlanes(
        _ format: PixelFormat,
        width: Int,
        height: Int,
        first: Plane,
        _ blocks: [Block]
    ) -> [Plane] {
        let (columns, rows) = ((width + 1) / 2, (height + 1) / 2)
        let rowBytes: Int
        let count: Int
        switch format.family {
        case .pairedPlane: (rowBytes, count) = (columns * 2, 1)
        case .twoPlanes: (rowBytes, count) = (columns, 2)
        case .gray, .pairs, .colors: return []
        }
        var planes: [Plane] = []
        if blocks.count > count {
            for index in 1...count {
                guard let plane = try? plane(blocks[index], index, rowBytes: rowBytes, rows: rows) else { return [] }
                planes.append(plane)
            }
            return planes
        }
        let stride = count == 1 ? first.stride : (first.stride + 1) / 2
        var start = first.stride * height
        for _ in 0..<count {
            let plane = Plane(block: 0, start: start, stride: stride, rowBytes: rowBytes, rows: rows)
            guard stride >= rowBytes, plane.end <= blocks[0].size else { return [] }
            planes.append(plane)
            start += stride * rows
        }
        return planes
    }
}
