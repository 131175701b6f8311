//! A run as a picture for documents: an SVG file without scripts, readable on a light and on a dark
//! background.
//!
//! It shows who leads and when, the leases at the store, and the faults. Messages, renewals and
//! effects are left to the page: see [`run_page`](super::run_page).

use std::collections::BTreeSet;
use std::fmt::Write;

use super::RunPage;
use super::collect;
use super::item::{Item, Kind};
use crate::plan::SimTime;

/// All lengths are in tenths of a pixel, so that no rounding depends on the machine.
const WIDTH: u64 = 8_000;
const LEFT: u64 = 640;
const RIGHT: u64 = 260;
const TOP: u64 = 80;
const LANE: u64 = 420;
const AXIS: u64 = 280;
/// The tops and heights of the parts of a lane.
const NAMES: (u64, u64) = (20, 130);
const BAR: (u64, u64) = (160, 180);
const WORK: (u64, u64) = (360, 30);
/// A letter of a label, at most.
const LETTER: u64 = 62;

/// The colours of the nodes, in order, and again from the first.
const COLOURS: [&str; 6] = ["#3a78c9", "#c8742a", "#2f8f63", "#a4508f", "#857722", "#5b6b7a"];

const STYLE: &str = "\
text{font:11px sans-serif;fill:#222}.in{fill:#fff;font-weight:bold}.page{fill:#fff}.line{stroke:#d4d4d4}\
.fault{fill:#8884}.claim{fill-opacity:.3}.wait{fill:none;stroke:#888;stroke-dasharray:4 3}.bad{stroke:#d22;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#15181c}.line{stroke:#3a3f45}.bad{stroke:#f66}}";

/// The picture of one run, as SVG in UTF-8: a lane for the store and one for each node, in true
/// time. The same run gives the same picture.
pub fn run_picture(run: &RunPage<'_>) -> String {
    let mut items = collect::items(run.entries, run.violations, run.end);
    items.sort_by_key(|item| (item.at, item.kind, item.node));
    let mut picture = Picture::new(run);
    picture.lanes();
    // Wide, translucent things first.
    for kinds in [
        &[Kind::Fault][..],
        &[Kind::Claim, Kind::Quarantine, Kind::Lease, Kind::Work],
        &[Kind::Leads],
    ] {
        items.iter().filter(|item| kinds.contains(&item.kind)).for_each(|item| picture.span(item));
    }
    for item in &items {
        picture.mark(item);
    }
    picture.finish()
}

struct Picture {
    svg: String,
    nodes: u64,
    end: u64,
    /// The end of each lane's last label.
    labelled: Vec<u64>,
    /// The times of violations that are drawn.
    violated: BTreeSet<u64>,
}

impl Picture {
    fn new(run: &RunPage<'_>) -> Self {
        let nodes = u64::try_from(run.plan.nodes.len()).unwrap_or(u64::MAX);
        let end = run.end.as_nanos().max(1);
        let labelled = vec![0; run.plan.nodes.len() + 1];
        Self { svg: String::new(), nodes, end, labelled, violated: BTreeSet::new() }
    }

    fn height(&self) -> u64 {
        TOP + LANE * (self.nodes + 1) + AXIS
    }

    fn x(&self, at: SimTime) -> u64 {
        let wide = u128::from(at.as_nanos().min(self.end)) * u128::from(WIDTH - LEFT - RIGHT);
        LEFT + u64::try_from(wide / u128::from(self.end)).unwrap_or(WIDTH)
    }

    /// The store is in the first lane.
    fn lane(item: &Item) -> usize {
        item.node.map_or(0, |node| node + 1)
    }

    fn top(lane: usize) -> u64 {
        TOP + LANE * u64::try_from(lane).unwrap_or_default()
    }

    /// The names of the lanes, and the time below.
    fn lanes(&mut self) {
        for lane in 0..self.labelled.len() {
            let name = lane.checked_sub(1).map_or("store".to_owned(), |node| format!("n{node}"));
            let (top, middle) = (Self::top(lane), Self::top(lane) + BAR.0 + 130);
            self.line("line", (LEFT, top), (WIDTH - RIGHT, top));
            self.text("", (80, middle), &name);
        }
        let bottom = Self::top(self.labelled.len());
        self.line("line", (LEFT, bottom), (WIDTH - RIGHT, bottom));
        let seconds = self.end / 1_000_000_000;
        let step = step(seconds);
        for second in (0..=seconds).step_by(usize::try_from(step).unwrap_or(1)) {
            let x = self.x(SimTime::from_nanos(second * 1_000_000_000));
            self.line("line", (x, TOP), (x, bottom + 50));
            self.text("", (x, bottom + 190), &format!("{second} s"));
        }
    }

    /// A fault, a lease, a claim, a quarantine, or a time in which a node leads or works.
    fn span(&mut self, item: &Item) {
        let lane = Self::lane(item);
        let (from, top) = (self.x(item.at), Self::top(lane));
        let until = self.x(item.until.unwrap_or(item.at)).max(from + 15);
        let colour =
            |node: Option<usize>| COLOURS[node.unwrap_or(COLOURS.len() - 1) % COLOURS.len()];
        let bar = (top + BAR.0, BAR.1);
        match item.kind {
            Kind::Fault => {
                self.bar("fault", "", (from, until), (top, LANE), item);
                self.label(lane, from, item);
            }
            Kind::Claim => self.bar("claim", colour(item.node), (from, until), bar, item),
            Kind::Work => {
                self.bar("", colour(item.node), (from, until), (top + WORK.0, WORK.1), item);
            }
            Kind::Quarantine => self.bar("wait", "", (from, until), bar, item),
            Kind::Lease => self.named((from, until), bar, colour(item.holder), item),
            Kind::Leads => self.named((from, until), bar, colour(item.node), item),
            _ => {}
        }
    }

    /// A violation, a crash, or the end of all faults.
    fn mark(&mut self, item: &Item) {
        let (x, lane) = (self.x(item.at), Self::lane(item));
        match item.kind {
            Kind::Violation if self.violated.insert(x) => {
                self.line("bad", (x, TOP), (x, Self::top(self.labelled.len())));
                self.label(0, x, item);
            }
            Kind::Crashed | Kind::StoreCrash => {
                let (top, size) = (Self::top(lane) + BAR.0, BAR.1 / 2);
                self.line("bad", (x - size, top), (x + size, top + BAR.1));
                self.line("bad", (x - size, top + BAR.1), (x + size, top));
            }
            _ => {}
        }
    }

    /// A bar with its label inside, if there is room.
    fn named(&mut self, ends: (u64, u64), bar: (u64, u64), colour: &str, item: &Item) {
        self.bar("", colour, ends, bar, item);
        if ends.1 - ends.0 > length(&item.label) + 60 {
            self.text("in", (ends.0 + 40, bar.0 + 130), &item.label);
        }
    }

    /// A label at the top of a lane, unless an earlier one is in its place.
    fn label(&mut self, lane: usize, x: u64, item: &Item) {
        let Some(before) = self.labelled.get_mut(lane) else { return };
        if x >= *before {
            *before = x + length(&item.label) + 60;
            self.text("", (x + 20, Self::top(lane) + NAMES.0 + NAMES.1 - 40), &item.label);
        }
    }

    fn bar(&mut self, class: &str, colour: &str, x: (u64, u64), y: (u64, u64), item: &Item) {
        let (class, fill) = (attribute("class", class), attribute("fill", colour));
        let (left, top) = (pixels(x.0), pixels(y.0));
        let (width, height) = (pixels(x.1 - x.0), pixels(y.1));
        self.add(format_args!(
            "<rect{class}{fill} x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\">\
             <title>{}</title></rect>",
            item.label
        ));
    }

    fn line(&mut self, class: &str, from: (u64, u64), to: (u64, u64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(pixels);
        self.add(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    /// Labels are names of this crate's, and need no escaping.
    fn text(&mut self, class: &str, at: (u64, u64), text: &str) {
        let (class, x, y) = (attribute("class", class), pixels(at.0), pixels(at.1));
        self.add(format_args!("<text{class} x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = writeln!(self.svg, "{element}");
    }

    fn finish(self) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height()));
        let begin =
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">");
        let page = format!("<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>");
        format!("{begin}\n<style>{STYLE}</style>\n{page}\n{}</svg>\n", self.svg)
    }
}

/// Seconds between two figures of the axis: at most twelve of them.
fn step(seconds: u64) -> u64 {
    let steps = (0..).map(|power| 10_u64.pow(power)).flat_map(|ten| [ten, ten * 2, ten * 5]);
    steps.take(24).find(|step| seconds / step <= 12).unwrap_or(u64::MAX)
}

fn length(label: &str) -> u64 {
    u64::try_from(label.chars().count()).unwrap_or(u64::MAX).saturating_mul(LETTER)
}

/// An attribute, if it has a value.
fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {name}=\"{value}\"") }
}

fn pixels(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}
