//! A line plot.

use std::fmt::Write;

/// Points: minutes, and how many of something.
pub(super) type Curve = Vec<(f64, f64)>;

const COLOURS: [&str; 7] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2",
];
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 60.0;

/// Named curves over time, from the origin; `unit` is what is counted.
pub(super) fn lines(curves: &[(&str, &Curve)], unit: &str) -> String {
    let points = || curves.iter().flat_map(|(_, curve)| curve.iter());
    let right = points().map(|point| point.0).fold(0.1, f64::max);
    let top = points().map(|point| point.1).fold(1.0, f64::max);
    let x = |minutes: f64| MARGIN + minutes / right * (WIDTH - 2.0 * MARGIN);
    let y = |histories: f64| HEIGHT - MARGIN - histories / top * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <path d=\"M{0},{1} V{2} H{3}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{3}\" y=\"{4}\" text-anchor=\"end\">{right:.1} minutes</text>\n\
         <text x=\"4\" y=\"{5}\">{top:.0} {unit}</text>\n",
        MARGIN,
        y(top),
        y(0.0),
        x(right),
        y(0.0) + 20.0,
        y(top) - 10.0,
    );
    for (number, (name, curve)) in curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let mut path = format!("M{:.1},{:.1}", x(0.0), y(0.0));
        for (minutes, histories) in curve.iter() {
            let _ = write!(path, " L{:.1},{:.1}", x(*minutes), y(*histories));
        }
        let line = 16.0 * number as f64;
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            MARGIN + 12.0,
            MARGIN + 12.0 + line,
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn curves_stay_within_the_picture() {
        let curve = vec![(1.0, 500.0), (2.0, 1000.0)];
        let svg = super::lines(&[("one", &curve), ("none", &Vec::new())], "histories");
        assert!(svg.contains("M60.0,260.0 L320.0,160.0 L580.0,60.0"));
        assert!(svg.ends_with("</svg>\n"));
    }
}
