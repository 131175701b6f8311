//! The state of a MONITOR stream so far: the record, the past, and the steps that led to them.

use std::collections::BTreeMap;

use super::super::{Past, Record, ServerTime, Step};
use super::line::Line;
use super::script::{Says, Script};
use super::{MARK, PAST, RECORD};
use crate::trace::{Asked, Mark};

/// The number of a script's arguments for each election.
const OF_AN_ACQUIRE: usize = 12;
const OF_A_RENEWAL: usize = 5;
const OF_A_LOOK: usize = 4;

impl Past {
    /// Sets a field as the scripts write it. Others are of no interest.
    pub(super) fn set(&mut self, field: &str, value: &str) {
        match (field, value.parse()) {
            ("identity", _) => self.identity = Some(value.to_owned()),
            ("stamp", _) => self.stamp = Some(value.to_owned()),
            ("watched", Ok(micros)) => self.watched = micros,
            ("longest", Ok(micros)) => self.longest = micros,
            _ => {}
        }
    }
}

impl Record {
    /// Sets a field as the scripts write it; `None` if that is not a value of such a field. The
    /// mark has the time of the server's clock.
    pub(super) fn set(&mut self, field: &str, value: &str) -> Option<()> {
        match field {
            "token" => self.token = value.parse().ok()?,
            "holder" => self.holder = bits(value)?,
            "number" => self.number = value.parse().ok()?,
            "ttl" => self.ttl = value.parse().ok()?,
            "quarantine" => self.quarantine = value.parse().ok()?,
            "released" => self.released = value == "1",
            "reserved_for" => self.reserved_for = bits(value).unwrap_or(0),
            "written" => self.marked_at = value.parse().ok()?,
            _ => {}
        }
        Some(())
    }
}

fn bits(hex: &str) -> Option<u128> {
    u128::from_str_radix(hex, 16).ok()
}

/// The state of the stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The name of each script, by its digest.
    scripts: BTreeMap<String, &'static str>,
    pub(super) kept: Option<Record>,
    pub(super) past: Past,
    pub(super) server: u32,
    /// The clock that the server has.
    pub(super) clock: ServerTime,
    script: Option<Script>,
    pub(super) steps: Vec<Step>,
    /// True if the answer of some script can't be known.
    pub(super) has_gaps: bool,
    /// The number of marks that it has shown.
    pub(super) marks: u32,
    /// The time a command deleted a record or a past, by the machine's wall clock in microseconds.
    pub(super) lost_at: Option<u64>,
}

impl State {
    pub(super) fn of(scripts: BTreeMap<String, &'static str>) -> Self {
        Self { scripts, ..Self::default() }
    }

    /// A record whose mark has the time of the server's clock.
    pub(super) fn in_time(&self, record: Record) -> Record {
        Record { marked_at: self.clock.machine(record.marked_at), ..record }
    }

    /// A server that was killed then has that record and that past.
    pub(super) fn recovers(&mut self, record: Option<Record>, past: Past, killed_at: u64) {
        let at = self.clock.machine(killed_at);
        // What it has done last was not shown.
        self.past.becomes(at, past, self.server);
        let (before, Some(after)) = (self.kept, record) else { return };
        let known = |before: Record| Record { marked_at: before.marked_at, ..after } == before;
        if before.is_some_and(known) {
            return;
        }
        let is_marked = |before: Record| before.mark() == after.mark();
        // A mark tells when it was written. Anything else was done before the server was killed.
        let (at, after) = if let Some(before) = before.filter(|before| is_marked(*before)) {
            (at, Record { marked_at: before.marked_at, ..after })
        } else {
            let after = self.in_time(after);
            (after.marked_at, after)
        };
        self.kept = Some(after);
        let Some((request, answer)) = Record::changed(before, after, &self.past) else { return };
        let (holder, after, server) = (after.holder, self.kept, self.server);
        self.steps.push(Step { at, holder, request, answer, before, after, server });
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

    /// All data is deleted. What the server knows from now on is as little as another one would
    /// know.
    fn flushed(&mut self, at: u64) {
        let past = std::mem::take(&mut self.past);
        if self.kept.take().is_some() || past.stamp.is_some() {
            self.server += 1;
            self.lost_at = Some(self.clock.machine(at));
        }
    }

    /// A script is called, for the one election of a run.
    fn called(&self, at: u64, sha: &str, keys: &str, rest: &[&str]) -> Option<Script> {
        let name = *self.scripts.get(sha)?;
        let (keys, arguments) = rest.split_at_checked(keys.parse().ok()?)?;
        let place = keys.iter().position(|key| *key == RECORD)?;
        let of = |count: usize| arguments.get(place * count..(place + 1) * count);
        let number = |text: &str| text.parse::<u64>().ok();
        let (holder, request, says) = match name {
            "acquire" => {
                let [holder, id, seen, lost, mark, _, _, ttl, quarantine, name, ..] =
                    *of(OF_AN_ACQUIRE)?
                else {
                    return None;
                };
                let request = Asked::Acquire { seen: number(seen)?, watched: read_mark(mark)? };
                let says = Says {
                    number: number(id)?,
                    lost: number(lost),
                    ttl: number(ttl)?,
                    quarantine: number(quarantine)?,
                    name: bits(name)?,
                };
                (bits(holder)?, request, says)
            }
            "look" => {
                let [quarantine, ..] = *of(OF_A_LOOK)? else { return None };
                // What the candidate knows is not told.
                let says = Says { quarantine: number(quarantine)?, ..Says::default() };
                (0, Asked::Look { seen: 0 }, says)
            }
            "renew" | "renew_first" => {
                let [holder, token, ..] = *of(OF_A_RENEWAL)? else { return None };
                (bits(holder)?, Asked::Renew { token: number(token)? }, Says::default())
            }
            "release" => {
                let [holder, token, ..] = *arguments else { return None };
                (bits(holder)?, Asked::Release { token: number(token)? }, Says::default())
            }
            _ => return None,
        };
        let (at, knows_past) = (self.clock.machine(at), *arguments.last()? != "-");
        Some(Script { at, holder, request, says, knows_past, runs: false, wrote: None })
    }

    /// A script ran a command.
    fn ran(&mut self, words: &[&str]) {
        let Some(script) = &mut self.script else { return };
        match *words {
            ["TIME"] => script.runs = true,
            ["HSET", RECORD, ref fields @ ..] => {
                let mut record = script.wrote.or(self.kept).unwrap_or_default();
                let (mut marked_at, fields) = (record.marked_at, fields.chunks_exact(2));
                for field in fields {
                    record.set(field[0], field[1]);
                    if field[0] == "number" {
                        marked_at = script.at;
                    }
                }
                record.marked_at = marked_at;
                script.wrote = Some(record);
            }
            ["HSET", PAST, ref fields @ ..] => {
                let mut past = self.past.clone();
                for field in fields.chunks_exact(2) {
                    past.set(field[0], field[1]);
                }
                self.past.becomes(script.at, past, self.server);
            }
            _ => {}
        }
    }

    /// The script has run to its end: everything that it wrote is known.
    pub(super) fn script_ended(&mut self) {
        let Some(script) = self.script.take().filter(|script| script.runs) else { return };
        let before = self.kept;
        let Some(answer) = script.answer(before, &self.past) else {
            self.has_gaps = true;
            return;
        };
        if script.wrote.is_some() {
            self.kept = script.wrote;
        }
        let Script { at, holder, request, .. } = script;
        let (after, server) = (self.kept, self.server);
        self.steps.push(Step { at, holder, request, answer, before, after, server });
    }
}

/// A mark that was watched, if one was: its holder and its number. `None` if it is no mark.
#[expect(clippy::option_option, reason = "the outer one says whether it can be read")]
fn read_mark(text: &str) -> Option<Option<Mark>> {
    if text.is_empty() {
        return Some(None);
    }
    let (holder, number) = text.split_once(':')?;
    Some(Some(Mark { holder: bits(holder)?, number: number.parse().ok()? }))
}

#[cfg(test)]
mod tests;
