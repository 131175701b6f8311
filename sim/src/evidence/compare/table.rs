//! A comparison as tables.

use super::{Cell, Comparison, Scenario, Spread};

/// One table for a scenario, with a row for each contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The scenario.
    pub title: String,
    /// The columns' names.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Comparison {
    /// One table for each scenario, with the columns that apply to it.
    pub fn tables(&self) -> Vec<Table> {
        Scenario::ALL.into_iter().map(|scenario| self.table(scenario)).collect()
    }

    fn table(&self, scenario: Scenario) -> Table {
        let cells: Vec<&Cell> =
            self.cells.iter().filter(|cell| cell.scenario == scenario).collect();
        let mut head = vec![
            "",
            "overlapped",
            "overlap",
            "worst",
            "stale writes",
            "refused",
            "vacant",
            "worst",
        ];
        let hands_over = cells.iter().any(|cell| cell.handover.is_some());
        let is_taken_over = cells.iter().any(|cell| cell.takeover.is_some());
        if hands_over {
            head.extend(["handover", "longest", "never"]);
        } else if is_taken_over {
            head.extend(["takeover", "longest", "never"]);
        }
        let row = |cell: &&Cell| {
            let mut row = vec![
                cell.contender.to_string(),
                format!("{} of {}", cell.overlapped, cell.runs),
                median(cell.overlap),
                longest(cell.overlap),
                cell.stale_accepted.to_string(),
                cell.stale_refused.map_or_else(|| "-".to_owned(), |refused| refused.to_string()),
                median(cell.vacancy),
                longest(cell.vacancy),
            ];
            if hands_over || is_taken_over {
                let spread = if hands_over { cell.handover } else { cell.takeover };
                row.extend([median(spread), longest(spread), cell.never.to_string()]);
            }
            row
        };
        Table {
            title: format!("{scenario}: {}", scenario.about()),
            head: head.into_iter().map(ToOwned::to_owned).collect(),
            rows: cells.iter().map(row).collect(),
        }
    }
}

fn median(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| in_words(spread.median_ms))
}

fn longest(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| in_words(spread.max_ms))
}

/// A duration in a suitable unit.
fn in_words(ms: f64) -> String {
    match ms {
        ..0.0005 => "0".to_owned(),
        ..0.095 => format!("{:.0} us", ms * 1_000.0),
        ..9.95 => format!("{ms:.1} ms"),
        ..999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1_000.0),
    }
}
