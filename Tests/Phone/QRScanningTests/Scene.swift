// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridQRCode
import TestSupport

/// Position and orientation of a code in a picture.
struct Pose: CustomStringConvertible {
    /// Center in pixels.
    var x: Double
    var y: Double
    /// Side with the border of four modules in pixels, without tilt.
    var side: Double
    /// Rotation in the plane of the picture in degrees.
    var turn = 0.0
    /// Tilt away from the camera in degrees.
    var tilt = 0.0
    /// Direction of the tilt axis in degrees; 45 is a diagonal, which moves all four corners.
    var axis = 45.0
    /// Distance of the camera in sides of the code.
    var distance = 2.5

    var description: String {
        "at \(Int(x)), \(Int(y)), side \(Int(side)), turned \(Int(turn))°, tilted \(Int(tilt))° about \(Int(axis))°"
    }
}

extension Canvas {
    /// Draws a code with its light border, with 3 × 3 samples per pixel.
    mutating func draw(_ code: QRMatrix, _ pose: Pose, dark: Int = 0, light: Int = 255) {
        let plane = Plane(pose)
        let modules = Double(code.size + 8)
        // Half the diagonal, and more for a corner that is closer to the camera.
        let reach = Int(pose.side * 0.95)
        for row in max(0, Int(pose.y) - reach)..<min(height, Int(pose.y) + reach) {
            for column in max(0, Int(pose.x) - reach)..<min(width, Int(pose.x) + reach) {
                var (covered, shade) = (0, 0)
                for part in 0..<9 {
                    let x = Double(column) + (Double(part % 3) + 0.5) / 3
                    let y = Double(row) + (Double(part / 3) + 0.5) / 3
                    guard let (u, v) = plane.point(x, y) else {
                        // Most pixels are far outside: one sample is enough.
                        if part == 0, plane.isFar(x, y) { break }
                        continue
                    }
                    covered += 1
                    shade += code.isDark(column: Int(u * modules) - 4, row: Int(v * modules) - 4) ? dark : light
                }
                if covered > 0 {
                    self[column, row] = UInt8((Int(self[column, row]) * (9 - covered) + shade) / 9)
                }
            }
        }
    }
}

/// A tilted square in front of a camera.
private struct Plane {
    private let pose: Pose
    /// The square's two sides in space.
    private let across: (Double, Double, Double)
    private let down: (Double, Double, Double)

    init(_ pose: Pose) {
        self.pose = pose
        let (turn, tilt, axis) = (pose.turn * .pi / 180, pose.tilt * .pi / 180, pose.axis * .pi / 180)
        func tilted(_ x: Double, _ y: Double) -> (Double, Double, Double) {
            // Rodrigues' rotation about (cos axis, sin axis, 0).
            let (a, b) = (Foundation.cos(axis), Foundation.sin(axis))
            let along = a * x + b * y
            let (c, s) = (Foundation.cos(tilt), Foundation.sin(tilt))
            return (x * c + a * along * (1 - c), y * c + b * along * (1 - c), (a * y - b * x) * s)
        }
        across = tilted(Foundation.cos(turn), Foundation.sin(turn))
        down = tilted(-Foundation.sin(turn), Foundation.cos(turn))
    }

    /// Returns the intersection of the ray through a pixel with the square, as fractions of its sides; `nil` outside.
    func point(_ x: Double, _ y: Double) -> (Double, Double)? {
        guard let (u, v) = meeting(x, y), u >= 0, u < 1, v >= 0, v < 1 else { return nil }
        return (u, v)
    }

    /// Returns true if a pixel is more than one pixel away from the square.
    func isFar(_ x: Double, _ y: Double) -> Bool {
        guard let (u, v) = meeting(x, y) else { return true }
        let edge = 3 / pose.side
        return u < -edge || u > 1 + edge || v < -edge || v > 1 + edge
    }

    private func meeting(_ x: Double, _ y: Double) -> (Double, Double)? {
        // In sides of the code: the camera is at the origin, the center of the square in front of it.
        let (a, b) = ((x - pose.x) / pose.side / pose.distance, (y - pose.y) / pose.side / pose.distance)
        // (a, b, 1) · t = (0, 0, distance) + across · u + down · v: two equations without t.
        let (p, q) = (across.0 - a * across.2, down.0 - a * down.2)
        let (r, s) = (across.1 - b * across.2, down.1 - b * down.2)
        let determinant = p * s - q * r
        guard abs(determinant) > 1e-9 else { return nil }
        let (e, f) = (a * pose.distance, b * pose.distance)
        return ((e * s - q * f) / determinant + 0.5, (p * f - e * r) / determinant + 0.5)
    }
}
