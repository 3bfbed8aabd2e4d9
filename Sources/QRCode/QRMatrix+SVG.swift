// SPDX-License-Identifier: Apache-2.0

extension QRMatrix {
    /// The code as an SVG document, one unit to a module, with a border of 4, black on white.
    public func svg() -> String {
        let zone = 4
        let side = size + 2 * zone
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
                path += "M\(start + zone) \(row + zone)h\(column - start)v1h-\(column - start)z"
            }
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">
            <rect width="\(side)" height="\(side)" fill="#fff"/>
            <path fill="#000" d="\(path)"/>
            </svg>

            """
    }
}
