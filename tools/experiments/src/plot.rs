//! Curves as a drawing.

use std::fmt::Write;

use crate::run::utilisation;
use crate::{CORES, Curves, STEPS, TASKS};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
/// The margins: left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 34.0, 16.0, 118.0];
/// Colours that can be told apart by people of all kinds of colour vision (Okabe and Ito, 2008), and dashes for paper
/// without colours.
const STYLES: [(&str, &str, &str); 6] = [
    ("no overheads", "#000000", "none"),
    ("seL4, user level", "#0072b2", "none"),
    ("LITMUS^RT", "#d55e00", "7 3"),
    ("RASP", "#cc79a7", "2 3"),
    ("this kernel, measured", "#009e73", "none"),
    ("this kernel, bounds", "#009e73", "7 3"),
];

impl Curves {
    /// A drawing on white ground, which needs nothing else.
    pub fn svg(&self) -> String {
        let [left, above, right, below] = MARGIN;
        let x = |used: f64| left + used / CORES as f64 * (WIDTH - left - right);
        let y = |share: f64| HEIGHT - below - share * (HEIGHT - above - below);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
             <text x=\"{left}\" y=\"20\" font-size=\"15\">{}</text>\n",
            self.title
        );
        for tenth in 0..=8 {
            let used = f64::from(tenth) / 2.0;
            let at = x(used);
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {above}V{}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{used:.1}</text>",
                HEIGHT - below,
                HEIGHT - below + 18.0,
            );
        }
        for quarter in 0..=4 {
            let share = f64::from(quarter) / 4.0;
            let at = y(share);
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {at:.1}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{} %</text>",
                WIDTH - right,
                left - 6.0,
                at + 4.0,
                quarter * 25,
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">utilisation before overheads; {} sets of {TASKS} \
             tasks each</text>",
            (left + WIDTH - right) / 2.0,
            HEIGHT - below + 38.0,
            self.sets,
        );
        let middle = (above + HEIGHT - below) / 2.0;
        let _ = writeln!(
            svg,
            "<text transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">schedulable sets</text>"
        );
        for (place, curve) in self.curves.iter().enumerate() {
            let style = STYLES.iter().find(|(name, ..)| *name == curve.name);
            let (_, colour, dashes) = style.unwrap_or(&STYLES[0]);
            let mut path = String::new();
            for point in 0..CORES * STEPS as usize {
                let letter = if point == 0 { 'M' } else { 'L' };
                let (across, up) = (x(utilisation(point)), y(self.share(curve, point)));
                let _ = write!(path, "{letter}{across:.1} {up:.1}");
            }
            let style = format!(
                "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\""
            );
            let (column, row) = ((place % 2) as f64, (place / 2) as f64);
            let (across, down) = (left + column * 330.0, HEIGHT - below + 60.0 + row * 20.0);
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" {style}/>\n<path d=\"M{across} {down}h32\" {style}/>\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                across + 40.0,
                down + 4.0,
                curve.name,
            );
        }
        svg + "</svg>\n"
    }
}
