// SPDX-License-Identifier: Apache-2.0

extension QRMatrix {
    /// Width and height of the view box of ``svg()`` and ``svgPath()``, including a border of 4 modules on each side.
    public var svgSide: Int { size + 2 * Self.border }

    /// Returns the attribute `d` of a path that fills the dark modules in a view box with sides of ``svgSide``.
    public func svgPath() -> String {
        var path = ""
        for row in 0..<size {
            var column = 0
            while column < size {
                guard isDark(column: column, row: row) else {
                    column += 1
                    continue
                }
                let start = column
                while isDark(column: column, row: row) { column += 1 }
                path += "M\(start + Self.border) \(row + Self.border)h\(column - start)v1h-\(column - start)z"
            }
        }
        return path
    }

    /// Returns the code as an SVG document with one unit per module and a border of 4 modules, black on white.
    public func svg() -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(svgSide) \(svgSide)" shape-rendering="crispEdges">
        <rect width="\(svgSide)" height="\(svgSide)" fill="#fff"/>
        <path fill="#000" d="\(svgPath())"/>
        </svg>

        """
    }
}
