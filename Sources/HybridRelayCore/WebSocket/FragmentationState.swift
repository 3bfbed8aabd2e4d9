// SPDX-License-Identifier: Apache-2.0

/// How data frames make up messages: pieces follow each other and stay within a size (RFC 6455 §5.4).
struct FragmentationState: Sendable {
    private let maximumMessage: Int
    private var messageBytes = 0
    private var isInsideMessage = false

    /// Messages of up to `maximumMessage` bytes.
    init(maximumMessage: Int) {
        self.maximumMessage = maximumMessage
    }

    /// Enters the next data frame, or throws and leaves everything as it was.
    mutating func enter(_ header: FrameHeader) throws(FrameViolation) {
        let before: Int
        if header.opcode == .continuation {
            guard isInsideMessage else { throw .strayContinuation }
            before = messageBytes
        } else {
            guard !isInsideMessage else { throw .interruptedMessage }
            before = 0
        }
        guard header.payloadLength <= maximumMessage - before else { throw .oversizedMessage }
        messageBytes = before + header.payloadLength
        isInsideMessage = !header.isFinal
    }
}
