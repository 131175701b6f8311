//! Charts for documents, as SVG: lines over axes that are both logarithmic, since what is measured
//! spans powers of ten.

use std::fmt::Write;

/// The size of a chart in pixels, and the room around what it draws.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// The colours of the lines, in order, and again from the first: one for each store of a benchmark.
const COLOURS: [&str; 7] =
    ["#3a78c9", "#c8742a", "#2f8f63", "#a4508f", "#857722", "#5b6b7a", "#c23b4a"];

/// Maps the values of an axis to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    values: (f64, f64),
    pixels: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    /// Equal differences are equally long. The first value is at the first pixel, the second at the
    /// second.
    pub fn linear(values: (f64, f64), pixels: (f64, f64)) -> Self {
        Self { values, pixels, logarithmic: false }
    }

    /// Equal ratios are equally long. Values below the first are drawn at its place: also 0, which
    /// has no logarithm.
    pub fn logarithmic(values: (f64, f64), pixels: (f64, f64)) -> Self {
        Self { values: (values.0.log10(), values.1.log10()), pixels, logarithmic: true }
    }

    /// The pixel of a value. If both ends of the axis are the same value, the first pixel.
    pub fn at(&self, value: f64) -> f64 {
        let (from, until) = self.values;
        let value = if self.logarithmic { value.log10().max(from) } else { value };
        let part = if until > from { (value - from) / (until - from) } else { 0.0 };
        self.pixels.0 + (self.pixels.1 - self.pixels.0) * part
    }
}

/// Lines over two axes.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The chart's title, with the unit of its values.
    pub title: String,
    /// The label of the axis below.
    pub across: String,
    /// Values of the axis below that get a name. Without any, the powers of ten do.
    pub marks: Vec<(f64, &'static str)>,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// The measured values of one thing.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Points from left to right: what was measured, and the value.
    pub points: Vec<(f64, f64)>,
    /// True if each point was measured with another setting, so that it gets a dot.
    pub dots: bool,
}

impl Chart {
    /// All charts, one below the other; those without a positive value are left out.
    pub fn svg(charts: &[Self]) -> String {
        let drawn: Vec<String> = charts.iter().filter_map(Self::draw).collect();
        page(WIDTH, HEIGHT, &drawn)
    }

    fn draw(&self) -> Option<String> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let positive = |values: &mut dyn Iterator<Item = f64>| ends(values.filter(|v| *v > 0.0));
        let (across, up) = (
            positive(&mut points().map(|point| point.0))?,
            positive(&mut points().map(|point| point.1))?,
        );
        // Whole powers of ten, so that the axis has a mark at both ends.
        let up = (10_f64.powf(up.0.log10().floor()), 10_f64.powf(up.1.log10().ceil()));
        let x = Scale::logarithmic(across, (LEFT, WIDTH - RIGHT));
        let y = Scale::logarithmic(up, (HEIGHT - BOTTOM, TOP));
        let mut svg = String::new();
        text(&mut svg, (LEFT, 18.0), "font-weight=\"bold\"", &self.title);
        for value in powers(up) {
            let at = y.at(value);
            rule(&mut svg, (LEFT, at), (WIDTH - RIGHT, at));
            text(&mut svg, (LEFT - 6.0, at + 4.0), "text-anchor=\"end\"", &plain(value));
        }
        let marks: Vec<_> = if self.marks.is_empty() {
            powers(across).map(|value| (value, plain(value))).collect()
        } else {
            let named = self.marks.iter().map(|(value, name)| (*value, (*name).to_owned()));
            named.filter(|(value, _)| (across.0..=across.1).contains(value)).collect()
        };
        for (value, name) in marks {
            let at = x.at(value);
            rule(&mut svg, (at, TOP), (at, HEIGHT - BOTTOM));
            let below = (at, HEIGHT - BOTTOM + 16.0);
            text(&mut svg, below, "text-anchor=\"middle\"", &name);
        }
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        text(&mut svg, (middle, HEIGHT - 8.0), "text-anchor=\"middle\"", &self.across);
        for (place, line) in self.lines.iter().enumerate() {
            line.draw(&mut svg, place, x, y);
        }
        Some(svg)
    }
}

impl Line {
    fn draw(&self, svg: &mut String, place: usize, x: Scale, y: Scale) {
        let colour = COLOURS[place % COLOURS.len()];
        let at = |point: &(f64, f64)| (x.at(point.0), y.at(point.1));
        let path: Vec<String> =
            sparse(self.points.iter().map(at)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            path.join(" ")
        );
        for (x, y) in self.points.iter().filter(|_| self.dots).map(at) {
            let _ =
                writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let (left, top) = (WIDTH - RIGHT + 16.0, TOP + 18.0 * float(place));
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"
        );
        text(svg, (left + 18.0, top + 10.0), "", &self.name);
    }
}

/// An SVG file of parts that are drawn one below the other, each of that width and height in
/// pixels.
pub fn page(width: f64, height: f64, parts: &[String]) -> String {
    let all = height * float(parts.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {all}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"{width}\" height=\"{all}\" fill=\"#fff\"/>\n"
    );
    for (place, part) in parts.iter().enumerate() {
        let _ =
            writeln!(svg, "<g transform=\"translate(0 {})\">\n{part}</g>", height * float(place));
    }
    svg + "</svg>\n"
}

/// One point for each pixel from left to right, and the last: more can't be seen, and make the file
/// large.
fn sparse(points: impl Iterator<Item = (f64, f64)>) -> impl Iterator<Item = (f64, f64)> {
    let mut points = points.peekable();
    let mut before = f64::NEG_INFINITY;
    std::iter::from_fn(move || {
        loop {
            let point = points.next()?;
            if point.0 >= before + 1.0 || points.peek().is_none() {
                before = point.0;
                return Some(point);
            }
        }
    })
}

/// The powers of ten from one value to another.
fn powers((from, until): (f64, f64)) -> impl Iterator<Item = f64> {
    // A little room for the rounding of logarithms.
    let within = move |power: &f64| (from * 0.999..=until * 1.001).contains(power);
    (-9..=9).map(|power| 10_f64.powi(power)).filter(within)
}

/// The least and the greatest.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| {
        let (least, greatest) = ends.unwrap_or((value, value));
        Some((value.min(least), value.max(greatest)))
    })
}

/// A power of ten as people write it: 0.01, 1, 10,000.
fn plain(value: f64) -> String {
    if value < 1.0 {
        return value.to_string();
    }
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Names are those of this package, and need no escaping.
fn text(svg: &mut String, (x, y): (f64, f64), attributes: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>");
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#ddd\"/>"
    );
}

#[allow(clippy::cast_precision_loss, reason = "for a picture")]
fn float(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)]) -> Chart {
        let line = Line { name: "redis".to_owned(), points: points.to_vec(), dots: true };
        Chart { title: "renew, ms".to_owned(), lines: vec![line], ..Chart::default() }
    }

    #[test]
    fn scales_map_both_ends() {
        let at = |scale: Scale, values: &[f64]| -> Vec<String> {
            values.iter().map(|value| format!("{:.1}", scale.at(*value))).collect()
        };
        let linear = Scale::linear((0.0, 4.0), (100.0, 0.0));
        assert_eq!(at(linear, &[0.0, 1.0, 4.0]), ["100.0", "75.0", "0.0"]);
        let logarithmic = Scale::logarithmic((1.0, 100.0), (0.0, 10.0));
        let values = [0.0, 1.0, 10.0, 100.0];
        assert_eq!(at(logarithmic, &values), ["0.0", "0.0", "5.0", "10.0"]);
        let of_one_value = Scale::linear((3.0, 3.0), (5.0, 9.0));
        assert_eq!(at(of_one_value, &[3.0]), ["5.0"], "no division by zero");
    }

    #[test]
    fn points_are_where_the_axes_say() {
        // From 10 to 1,000 elections, and from 0.1 to 10 ms.
        let svg = Chart::svg(&[chart(&[(10.0, 0.1), (100.0, 1.0), (1_000.0, 10.0)])]);
        let middle = (f64::midpoint(LEFT, WIDTH - RIGHT), f64::midpoint(TOP, HEIGHT - BOTTOM));
        assert!(svg.contains(&format!("cx=\"{:.1}\" cy=\"{:.1}\"", middle.0, middle.1)), "{svg}");
        for mark in [">0.1<", ">10<", ">100<", ">1,000<", ">redis<", ">renew, ms<"] {
            assert!(svg.contains(mark), "{mark} in {svg}");
        }
    }

    #[test]
    fn charts_without_values_are_left_out() {
        let all = [chart(&[]), chart(&[(10.0, 0.0)]), chart(&[(10.0, 1.0), (20.0, 0.0)])];
        let svg = Chart::svg(&all);
        assert_eq!(svg.matches("<polyline").count(), 1, "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn many_points_stay_one_a_pixel() {
        let many: Vec<_> = (1..100_000).map(|n| (f64::from(n), 1.0)).collect();
        let drawn: Vec<_> = sparse(many.iter().map(|point| (point.0 / 1_000.0, 0.0))).collect();
        assert!((100..=102).contains(&drawn.len()), "{}", drawn.len());
        assert_eq!(drawn.last(), Some(&(99.999, 0.0)));
    }
}
