//! The findings, and how they are printed.

use serde_json::json;

use super::kind::{Kind, Level, Row};
use crate::exit::{self, Failure};
use crate::output;

/// One thing that was found: its kind says what follows, and the text what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// All that was found, each once.
#[derive(Debug, Default)]
pub(super) struct Report(Vec<Finding>);

impl Report {
    pub(super) fn add(&mut self, kind: Kind, text: impl Into<String>) {
        let finding = Finding { kind, text: text.into() };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.0.iter().any(|finding| finding.kind == kind)
    }

    fn worst(&self) -> Option<Level> {
        self.0.iter().map(|finding| finding.kind.row().level).max()
    }

    pub(super) fn status(&self) -> u8 {
        match self.worst() {
            None | Some(Level::Note) => 0,
            Some(Level::Problem) => exit::FINDINGS,
            Some(Level::Unusable) => exit::STORE,
        }
    }

    /// The worst first.
    pub(super) fn print(mut self, store: &str, json: bool) -> Result<(), Failure> {
        self.0.sort_by_key(|finding| std::cmp::Reverse(finding.kind.row().level));
        let lines =
            self.0.iter().map(|finding| if json { finding.json() } else { finding.words() });
        let lines: String = lines.map(|line| line + "\n").collect();
        let last = if json { String::new() } else { self.last_line(store) + "\n" };
        output::print((lines + &last).as_bytes()).map(drop)
    }

    fn last_line(&self, store: &str) -> String {
        let count =
            |level| self.0.iter().filter(|finding| finding.kind.row().level == level).count();
        let (unusable, problems) = (count(Level::Unusable), count(Level::Problem));
        let found = match unusable + problems {
            0 => return format!("{store}: nothing wrong was found"),
            1 => "1 problem was found".to_owned(),
            count => format!("{count} problems were found"),
        };
        let works = if unusable > 0 { "do not work" } else { "work" };
        format!("{store}: {found}; elections {works}")
    }
}

impl Finding {
    fn words(&self) -> String {
        let Row { id, level, follows, change } = self.kind.row();
        let head = format!("{}: {id}: {}", level.name(), self.text);
        if level == Level::Note {
            return head;
        }
        format!("{head}\n    what follows: {follows}\n    what to change: {change}")
    }

    fn json(&self) -> String {
        let Row { id, level, follows, change } = self.kind.row();
        let level = level.name();
        json!({ "id": id, "level": level, "found": self.text, "follows": follows, "change": change })
            .to_string()
    }
}
