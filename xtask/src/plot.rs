//! Line plots, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// The margins: left, top, right, bottom. The names of curves are on the right.
const MARGIN: [f64; 4] = [64.0, 24.0, 230.0, 48.0];
/// The colours of the curves, in their order.
const COLOURS: [&str; 8] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#d95f02", "#8c564b", "#c2339c", "#0e7c86",
];
/// The dashes, each for as many curves as there are colours, so that no two curves look alike.
const DASHES: [&str; 3] = ["none", "7 3", "2 3"];
/// The minimum distance between names of curves.
const LINE: f64 = 15.0;
/// The maximum number of lines of an even grid.
const LINES: f64 = 6.0;

/// Named curves over two axes.
#[derive(Debug)]
pub(crate) struct Plot<'a> {
    /// What the vertical axis shows.
    pub(crate) title: &'a str,
    /// What the horizontal axis shows.
    pub(crate) across: &'a str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) curves: Vec<Curve<'a>>,
    /// A limit that no curve must exceed, and its label.
    pub(crate) bound: Option<(f64, &'a str)>,
}

/// A series of points.
#[derive(Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) name: &'a str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A named series of points.
pub(crate) type Points = (String, Vec<(f64, f64)>);

/// The scale and range of an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Axis {
    /// Linear, from zero to at least a value.
    Even { end: f64 },
    /// Logarithmic, from one value above zero to another; each line of the grid is a multiple of the one
    /// before.
    Times { begin: f64, factor: f64, end: f64 },
}

impl Axis {
    /// The end of its grid.
    fn end(self) -> f64 {
        match self {
            Self::Even { end } => (end / self.step()).ceil() * self.step(),
            Self::Times { end, .. } => end,
        }
    }

    /// The step of an even grid: a round number.
    fn step(self) -> f64 {
        let (Self::Even { end } | Self::Times { end, .. }) = self;
        let power = 10f64.powf((end / LINES).log10().floor());
        let steps = [1.0, 2.0, 5.0].map(|times| times * power);
        let wide = |step: &f64| end / step <= LINES;
        steps.into_iter().find(wide).unwrap_or(10.0 * power)
    }

    /// The position of a value, between 0 and 1.
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Even { .. } => value / self.end(),
            Self::Times { begin, end, .. } => {
                (value / begin).log2() / (end / begin).log2().max(1.0)
            }
        }
    }

    /// The lines of its grid.
    fn grid(self) -> Vec<f64> {
        let next = |value: f64| match self {
            // Rounding hides the errors of sums of decimal fractions.
            Self::Even { .. } => ((value + self.step()) * 1e6).round() / 1e6,
            Self::Times { factor, .. } => value * factor,
        };
        let first = match self {
            Self::Even { .. } => 0.0,
            Self::Times { begin, .. } => begin,
        };
        std::iter::successors(Some(first), |value| Some(next(*value)))
            .take_while(|value| *value <= self.end())
            .collect()
    }
}

impl Plot<'_> {
    /// The plot as SVG.
    pub(crate) fn svg(&self) -> String {
        let [left, above, right, below] = MARGIN;
        let x = |value| left + self.x.place(value) * (WIDTH - left - right);
        let y = |value| HEIGHT - below - self.y.place(value) * (HEIGHT - above - below);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        for value in self.y.grid() {
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                WIDTH - right,
                left - 6.0,
                y(value) + 4.0,
                y = y(value),
            );
        }
        for value in self.x.grid() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
                x(value),
                HEIGHT - below + 18.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text x=\"{left}\" y=\"16\">{}</text>",
            (left + WIDTH - right) / 2.0,
            HEIGHT - 10.0,
            self.across,
            self.title,
        );
        if let Some((bound, words)) = self.bound {
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#000000\" \
                 stroke-width=\"1.5\" stroke-dasharray=\"10 4\"/>\
                 <text x=\"{}\" y=\"{:.1}\" font-weight=\"bold\">{words}</text>",
                WIDTH - right,
                left + 6.0,
                y(bound) + 14.0,
                y = y(bound),
            );
        }
        let ends: Vec<_> = self
            .curves
            .iter()
            .map(|curve| curve.points.last().map_or(HEIGHT - below, |end| y(end.1)))
            .collect();
        let names = spread(&ends, above, HEIGHT - below);
        for (index, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let dash = DASHES[index / COLOURS.len() % DASHES.len()];
            let mut points = String::new();
            let mut marks = String::new();
            for point in &curve.points {
                let (x, y) = (x(point.0), y(point.1));
                let _ = write!(points, "{x:.1},{y:.1} ");
                let _ = write!(marks, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
            }
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
                 stroke-dasharray=\"{dash}\"/><g fill=\"{colour}\">{marks}</g>",
                points.trim_end(),
            );
            let name = names[index];
            if let Some(end) = curve.points.last() {
                let edge = WIDTH - right;
                let _ = writeln!(
                    svg,
                    "<polyline points=\"{:.1},{end:.1} {edge},{end:.1} {},{name:.1} {},{name:.1}\" \
                     fill=\"none\" stroke=\"{colour}\" stroke-width=\"0.8\" class=\"leader\"/>",
                    x(end.0),
                    edge + 24.0,
                    edge + 40.0,
                    end = y(end.1),
                );
            }
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                WIDTH - right + 44.0,
                name + 4.0,
                curve.name
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The plot as SVG; none without points. With a `factor` the horizontal axis is logarithmic, and has no zero.
pub(crate) fn draw(
    title: &str,
    across: &str,
    factor: Option<f64>,
    curves: &[Points],
) -> Option<String> {
    let is_shown = |point: &&(f64, f64)| factor.is_none() || point.0 > 0.0;
    let all = || curves.iter().flat_map(|curve| &curve.1).filter(is_shown);
    let least = all().map(|point| point.0).reduce(f64::min)?;
    let most = all().map(|point| point.0).reduce(f64::max)?;
    let highest = all().map(|point| point.1).reduce(f64::max)?;
    let x = match factor {
        None => Axis::Even { end: most },
        Some(factor) => Axis::Times {
            begin: least,
            factor,
            end: most,
        },
    };
    let curve = |curve: &'_ Points| curve.1.iter().filter(is_shown).copied().collect();
    let plot = Plot {
        title,
        across,
        x,
        y: Axis::Even { end: highest },
        curves: curves
            .iter()
            .map(|one| Curve {
                name: &one.0,
                points: curve(one),
            })
            .collect(),
        bound: None,
    };
    Some(plot.svg())
}

/// The positions of the names of curves that end at these heights: in the same order, as near as possible,
/// between `top` and `bottom`.
fn spread(ends: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<_> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let mut places = ends.to_vec();
    // From the top down to make room for each name below, then from the bottom up.
    let mut least = top;
    for &curve in &order {
        places[curve] = places[curve].max(least);
        least = places[curve] + LINE;
    }
    let mut most = bottom;
    for &curve in order.iter().rev() {
        places[curve] = places[curve].min(most);
        most = places[curve] - LINE;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance_and_their_order() {
        let places = spread(&[100.0, 100.0, 50.0, 108.0, 300.0], 24.0, 300.0);
        assert_eq!(places, [100.0, 115.0, 50.0, 130.0, 300.0]);
        let low = spread(&[299.0, 300.0, 300.0], 24.0, 300.0);
        assert_eq!(low, [270.0, 285.0, 300.0]);
    }

    #[test]
    fn curves_differ_and_the_bound_is_told() {
        let names: Vec<_> = (0..16).map(|index| format!("curve {index}")).collect();
        let plot = Plot {
            title: "delays",
            across: "attackers",
            x: Axis::Even { end: 2.0 },
            y: Axis::Even { end: 1000.0 },
            curves: names
                .iter()
                .map(|name| Curve {
                    name,
                    points: vec![(0.0, 1.0), (2.0, 1.0)],
                })
                .collect(),
            bound: Some((900.0, "the bound")),
        };
        let svg = plot.svg();
        let styles: std::collections::BTreeSet<_> = svg
            .lines()
            .filter(|line| line.contains("<polyline") && !line.contains("leader"))
            .map(|line| {
                line.split_once("stroke=")
                    .unwrap()
                    .1
                    .split_once("/>")
                    .unwrap()
                    .0
            })
            .collect();
        assert_eq!(styles.len(), names.len(), "{styles:?}");
        assert!(svg.contains(">the bound</text>"), "{svg}");
    }

    #[test]
    fn even_grids_have_round_steps() {
        let grid = |end| Axis::Even { end }.grid();
        assert_eq!(grid(2200.0), [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]);
        assert_eq!(grid(4.0), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(grid(0.5), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]);
    }

    #[test]
    fn other_grids_multiply() {
        let axis = Axis::Times {
            begin: 2.0,
            factor: 4.0,
            end: 128.0,
        };
        assert_eq!(axis.grid(), [2.0, 8.0, 32.0, 128.0]);
        assert_eq!(
            [2.0, 16.0, 128.0].map(|value| axis.place(value)),
            [0.0, 0.5, 1.0]
        );
    }

    #[test]
    fn curves_stay_within_the_picture() {
        let plot = Plot {
            title: "histories",
            across: "minutes",
            x: Axis::Even { end: 2.0 },
            y: Axis::Even { end: 1000.0 },
            curves: vec![
                Curve {
                    name: "one",
                    points: vec![(0.0, 0.0), (1.0, 500.0), (2.0, 1000.0)],
                },
                Curve {
                    name: "none",
                    points: Vec::new(),
                },
            ],
            bound: None,
        };
        let svg = plot.svg();
        assert!(
            svg.contains("\"64.0,372.0 297.0,198.0 530.0,24.0\""),
            "{svg}"
        );
        assert!(svg.contains(">none</text>") && svg.ends_with("</svg>\n"));
    }
}
