//! The echo's CPU per call as bars, in an SVG that reads well on a light and on a dark page.

use std::fmt::Write;

use crate::report::Bar;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 44.0;
const STEP: f64 = 30.0;
const THICK: f64 = 18.0;

/// The picture.
pub(crate) fn svg(bars: &[Bar]) -> String {
    let height = TOP + STEP * bars.len() as f64 + 12.0;
    let longest = bars.iter().map(|bar| bar.value).fold(1.0, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / longest;
    // A panel of its own makes the text readable on any page; both change with the reader's scheme.
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"CPU time per echo call\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <style>text{{fill:#424a53}}.panel{{fill:#f6f8fa}}.ours{{fill:#d9730d}}.theirs{{fill:#8b949e}}\
         @media (prefers-color-scheme:dark){{text{{fill:#c9d1d9}}.panel{{fill:#161b22}}}}</style>\n\
         <rect class=\"panel\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"600\">\
         CPU time of the server per echo call, microseconds (less is better)</text>\n"
    );
    for (number, bar) in bars.iter().enumerate() {
        let y = TOP + STEP * number as f64;
        let (length, text) = ((bar.value * scale).max(1.0), y + THICK * 0.75);
        let (label, value) = (&bar.label, bar.value);
        let class = if bar.ours { "ours" } else { "theirs" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{text:.1}\" text-anchor=\"end\">{label}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{THICK}\" rx=\"3\"/>\
             <text x=\"{:.1}\" y=\"{text:.1}\">{value:.1}</text>",
            LEFT - 10.0,
            LEFT + length + 8.0,
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_is_drawn_with_its_value() {
        let bar = |value, ours| Bar { label: "a".to_owned(), value, ours };
        let picture = svg(&[bar(10.0, true), bar(20.0, false)]);
        assert_eq!(picture.matches("<rect").count(), 3);
        for part in ["class=\"ours\"", "class=\"theirs\"", ">10.0<", ">20.0<"] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
    }
}
