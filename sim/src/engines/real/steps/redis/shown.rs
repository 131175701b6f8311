//! What a MONITOR stream has shown so far: the record, the history, and the steps that led to them.

use std::collections::BTreeMap;

use super::super::{History, Record, ServerTime, Step};
use super::line::Line;
use super::script::Script;
use super::{MARK, RECORD};
use crate::trace::Asked;

impl History {
    /// Sets a field as the scripts write it. Others are of no interest.
    pub(super) fn set(&mut self, field: &str, value: &str) {
        match (field, value.parse()) {
            ("known_since", Ok(micros)) => self.known_since = micros,
            ("longest_ttl", Ok(micros)) => self.longest_ttl = micros,
            _ => {}
        }
    }
}

impl Record {
    /// Sets a field as the scripts write it; `None` if that is not a value of such a field.
    pub(super) fn set(&mut self, field: &str, value: &str) -> Option<()> {
        match field {
            "token" => self.token = value.parse().ok()?,
            "holder" => self.holder = u128::from_str_radix(value, 16).ok()?,
            "lease_end" => self.lease_end = value.parse().ok()?,
            "ttl" => self.ttl = value.parse().ok()?,
            "quarantine" => self.quarantine = value.parse().ok()?,
            "released" => self.released = value == "1",
            _ => {}
        }
        Some(())
    }
}

/// What the stream has shown so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The name of each script, by its digest.
    scripts: BTreeMap<String, &'static str>,
    pub(super) kept: Option<Record>,
    pub(super) history: History,
    /// The server that has begun the history, as the scripts name it.
    pub(super) identity: Option<String>,
    pub(super) server: u32,
    /// The clock that the server has.
    pub(super) clock: ServerTime,
    script: Option<Script>,
    pub(super) steps: Vec<Step>,
    /// Whether the answer of some script can't be known.
    pub(super) has_gaps: bool,
    /// The number of marks that it has shown.
    pub(super) marks: u32,
    /// When a command has deleted the record, by the machine's wall clock in microseconds.
    pub(super) lost_at: Option<u64>,
}

impl State {
    pub(super) fn of(scripts: BTreeMap<String, &'static str>) -> Self {
        Self { scripts, ..Self::default() }
    }

    /// A server that was killed then has that record.
    pub(super) fn recovers(&mut self, record: Option<Record>, killed_at: u64) {
        let before = self.kept;
        let Some(after) = record.filter(|after| before != Some(*after)) else { return };
        self.kept = record;
        let Some((now, request, answer)) = Record::changed(before, after, self.history, killed_at)
        else {
            return;
        };
        let (holder, after) = (after.holder, record);
        let (at, server, clock) = (self.clock.machine(now), self.server, self.clock);
        self.steps.push(Step { at, now, holder, request, answer, before, after, server, clock });
    }

    pub(super) fn shown(&mut self, line: &str) {
        let Some(Line { at, in_script, words }) = Line::parse(line) else { return };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if in_script {
            self.ran(&words);
            return;
        }
        self.script_ended();
        match words[..] {
            ["ECHO", MARK] => self.marks += 1,
            ["FLUSHALL"] => self.flushed(at),
            ["EVALSHA", sha, keys, ref rest @ ..] => self.script = self.called(at, sha, keys, rest),
            _ => {}
        }
    }

    /// All data is deleted. What the server knows from now on is as little as another one would know.
    fn flushed(&mut self, at: u64) {
        (self.history, self.identity) = (History::default(), None);
        if self.kept.take().is_some() {
            self.server += 1;
            self.lost_at = Some(self.clock.machine(at));
        }
    }

    /// A script is called, for the one election of a run.
    fn called(&self, at: u64, sha: &str, keys: &str, rest: &[&str]) -> Option<Script> {
        let name = *self.scripts.get(sha)?;
        let (keys, arguments) = rest.split_at_checked(keys.parse().ok()?)?;
        if keys.first() != Some(&RECORD) {
            return None;
        }
        let number = |place: usize| arguments.get(place)?.parse::<u64>().ok();
        let holder = u128::from_str_radix(arguments.first()?, 16).ok()?;
        let token = number(1)?;
        let (request, ttl, quarantine) = match name {
            "acquire" => (Asked::Acquire { seen: token }, number(2)?, number(3)?),
            "renew" | "renew_and_compare" => (Asked::Renew { token }, number(2)?, 0),
            "release" => (Asked::Release { token }, 0, 0),
            _ => return None,
        };
        Some(Script { at, holder, request, ttl, quarantine, runs: false, wrote: None })
    }

    /// A script ran a command.
    fn ran(&mut self, words: &[&str]) {
        if self.script.is_none() {
            return;
        }
        match *words {
            ["TIME"] => self.script_changed(|script| script.runs = true),
            ["HSET", RECORD, ref fields @ ..] => {
                let record = self.written(fields);
                self.script_changed(|script| script.wrote = Some(record));
            }
            ["HSET", _, ref fields @ ..] => self.history_written(fields),
            _ => {}
        }
    }

    fn script_changed(&mut self, change: impl FnOnce(&mut Script)) {
        if let Some(script) = &mut self.script {
            change(script);
        }
    }

    /// The record with these changes.
    fn written(&self, fields: &[&str]) -> Record {
        let mut record = self.kept.unwrap_or_default();
        for field in fields.chunks_exact(2) {
            record.set(field[0], field[1]);
        }
        record
    }

    fn history_written(&mut self, fields: &[&str]) {
        for field in fields.chunks_exact(2) {
            self.history.set(field[0], field[1]);
            if field[0] == "identity" {
                self.identity = Some(field[1].to_owned());
            }
        }
    }

    /// The script has run to its end: everything that it wrote is known.
    pub(super) fn script_ended(&mut self) {
        let Some(script) = self.script.take().filter(|script| script.runs) else { return };
        let before = self.kept;
        let Some((now, answer)) = script.answer(before, self.history) else {
            self.has_gaps = true;
            return;
        };
        if script.wrote.is_some() {
            self.kept = script.wrote;
        }
        let Script { at, holder, request, .. } = script;
        let (after, server, clock) = (self.kept, self.server, self.clock);
        let at = clock.machine(at);
        self.steps.push(Step { at, now, holder, request, answer, before, after, server, clock });
    }
}

#[cfg(test)]
mod tests;
