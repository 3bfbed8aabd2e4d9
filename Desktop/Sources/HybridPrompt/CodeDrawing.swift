// SPDX-License-Identifier: Apache-2.0

internal import CHybridGTK
internal import HybridQRCode

/// Drawing of a code, dark on light in every theme, with a border of 4 modules.
enum CodeDrawing {
    /// Width of the light border in modules.
    private static let border = 4
    /// Least width of the drawing in pixels at 1×, large enough to scan at arm's length.
    private static let minimumSide = 336

    /// Returns the width and height of a code in pixels at 1×, with a whole number of pixels for each module.
    static func side(_ code: QRMatrix) -> CInt {
        let modules = code.size + 2 * border
        return CInt(modules * ((minimumSide + modules - 1) / modules))
    }

    /// Draws a code as large as possible in the middle of an area.
    ///
    /// Modules are aligned with the pixels of the display, so that their edges are sharp at every scale.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - context: The context of cairo, whose unit is a pixel at 1×.
    ///   - size: Width and height of the area in pixels at 1×.
    ///   - scale: Pixels of the display per pixel at 1×.
    static func draw(_ code: QRMatrix, _ context: OpaquePointer, size: (width: CInt, height: CInt), scale: CInt) {
        let modules = code.size + 2 * border
        let (width, height) = (Int(size.width * scale), Int(size.height * scale))
        let module = max(1, min(width, height) / modules)
        let (left, top) = ((width - modules * module) / 2, (height - modules * module) / 2)
        cairo_scale(context, 1 / Double(scale), 1 / Double(scale))
        cairo_set_antialias(context, CAIRO_ANTIALIAS_NONE)
        func fill(column: Int, row: Int, columns: Int, rows: Int) {
            cairo_rectangle(
                context,
                Double(left + column * module),
                Double(top + row * module),
                Double(columns * module),
                Double(rows * module)
            )
        }
        cairo_set_source_rgb(context, 1, 1, 1)
        fill(column: 0, row: 0, columns: modules, rows: modules)
        cairo_fill(context)
        cairo_set_source_rgb(context, 0, 0, 0)
        for row in 0..<code.size {
            for column in 0..<code.size where code.isDark(column: column, row: row) {
                fill(column: column + border, row: row + border, columns: 1, rows: 1)
            }
        }
        cairo_fill(context)
    }
}
