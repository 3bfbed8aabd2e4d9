// SPDX-License-Identifier: Apache-2.0

/// What a person answered to a question with buttons.
public enum ConfirmAnswer: Hashable, Sendable {
    /// The button that agrees.
    case yes
    /// The button that does not, of three; or the second of two, with programs that tell no difference.
    case no
    /// The button that cancels, or a closed window.
    case cancelled
}

/// The texts of the question for a new PIN.
public struct NewPINTexts: Hashable, Sendable {
    /// Before the first field.
    public var prompt: String
    /// Before the second field.
    public var repeatPrompt: String
    /// When the two differ.
    public var mismatch: String

    /// The texts, in English unless others are given.
    public init(
        prompt: String = "New PIN:",
        repeatPrompt: String = "Repeat the PIN:",
        mismatch: String = "The two PINs differ; try again"
    ) {
        self.prompt = prompt
        self.repeatPrompt = repeatPrompt
        self.mismatch = mismatch
    }
}
