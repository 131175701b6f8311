//! Reads one file.

use std::io::{BufRead, Read};

use rustc_hash::FxHashMap;

use super::candidate::{Added, Candidate, Suspicion};
use super::facts::{Anchor, Facts, File, Index, Moment, Place};
use super::log::{Clock, Header, LINE_MOST, Line, LogError};
use super::verdict::Report;

/// A file that is being read.
struct Reading<'a> {
    facts: &'a mut Facts,
    report: &'a mut Report,
    name: &'a str,
    /// From its first line on.
    file: Option<Index>,
    candidates: FxHashMap<u64, Candidate>,
    suspicions: Vec<Suspicion>,
}

/// Reads a file to its end.
pub(super) fn read<'a>(
    facts: &'a mut Facts,
    report: &'a mut Report,
    name: &'a str,
    mut from: impl BufRead,
) -> Result<(), LogError> {
    let (candidates, suspicions) = (FxHashMap::default(), Vec::new());
    let mut reading = Reading { facts, report, name, file: None, candidates, suspicions };
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        number += 1;
        line.clear();
        // A line, its end, and one more byte, which a line within the limit does not have.
        let read = from.by_ref().take(LINE_MOST as u64 + 2).read_until(b'\n', &mut line);
        read.map_err(|why| LogError::Io { line: number, why })?;
        if line.is_empty() {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let is_whole = text.len() < line.len();
        if text.len() > LINE_MOST {
            return Err(LogError::Long { line: number });
        }
        match Line::parse(number, text) {
            Ok(parsed) => reading.line(number, &parsed)?,
            // The process was killed, or writes at present.
            Err(LogError::Syntax { .. }) if !is_whole => {
                reading.report.cut_off += 1;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    reading.end();
    Ok(())
}

impl Reading<'_> {
    /// Begins with the first line, which is the header unless the file is a later part of a log.
    fn begin(&mut self, first: &Line<'_>) -> Index {
        let (boot, has_header) = match first {
            Line::Header(header) => (header.boot.as_deref(), true),
            _ => (None, false),
        };
        let clock = self.facts.clock_of(boot);
        self.report.without_header += u64::from(!has_header);
        let file = self.facts.files.len();
        self.facts.files.push(File { name: self.name.to_owned(), clock, has_header, lost: 0 });
        self.file = Some(file);
        file
    }

    fn line(&mut self, number: u64, line: &Line<'_>) -> Result<(), LogError> {
        self.report.lines += 1;
        let file = self.file.unwrap_or_else(|| self.begin(line));
        let place = Place { file, line: number };
        let moment = |reading| Moment { reading, place };
        match line {
            Line::Header(_) if number > 1 => return Err(LogError::SecondHeader { line: number }),
            Line::Header(Header { at, within, wall, drift_ppm, .. }) => {
                let (at, within, wall, drift_ppm) = (*at, *within, *wall, *drift_ppm);
                self.compared(moment(at), Clock { at, within, wall, drift_ppm });
            }
            Line::Clock(clock) => self.compared(moment(clock.at), *clock),
            Line::Elected(claim) => {
                let (candidate, mut added) =
                    self.candidate(file, claim.id, &claim.key, &claim.name);
                candidate.elected(moment(claim.at), claim, &mut added);
            }
            Line::Renewed(claim) => {
                let (candidate, mut added) =
                    self.candidate(file, claim.id, &claim.key, &claim.name);
                candidate.renewed(moment(claim.at), claim, &mut added);
            }
            Line::SteppedDown(end) => {
                let (candidate, mut added) = self.candidate(file, end.id, &end.key, "?");
                candidate.stepped_down(moment(end.at), end, &mut added);
            }
            Line::Write(write) => {
                let (candidate, mut added) = self.candidate(file, write.id, &write.key, "?");
                candidate.wrote(moment(write.at), write, &mut added);
            }
            Line::Gap(gap) => {
                self.facts.files[file].lost += gap.lines;
                self.report.lost_lines += gap.lines;
            }
        }
        Ok(())
    }

    /// The clock of the file was compared with the wall clock.
    fn compared(&mut self, at: Moment, Clock { within, wall, drift_ppm, .. }: Clock) {
        let clock = self.facts.clock_at(at);
        let clock = &mut self.facts.clocks[clock];
        clock.drift_ppm = clock.drift_ppm.max(Some(drift_ppm));
        clock.anchors.push(Anchor { at, within, wall });
    }

    fn candidate(
        &mut self,
        file: Index,
        id: u64,
        key: &str,
        name: &str,
    ) -> (&mut Candidate, Added<'_>) {
        let Self { facts, report, candidates, suspicions, .. } = self;
        let new = |facts: &mut Facts| Candidate::new(facts, file, key, name);
        let candidate = candidates.entry(id).or_insert_with(|| new(facts));
        if !candidate.is_of(key) {
            // Another candidate under that number: the file was put together from several.
            candidate.finish(facts);
            *candidate = new(facts);
        }
        (candidate, Added { facts, report, suspicions })
    }

    /// The end of the file: what looked wrong is a violation only if no line is missing.
    fn end(self) {
        let Self { facts, report, file, candidates, suspicions, .. } = self;
        report.empty += u64::from(file.is_none());
        for mut candidate in candidates.into_values() {
            candidate.finish(facts);
            report.clocks_back += u64::from(candidate.went_back());
        }
        let lacks_lines = file.is_some_and(|file| facts.files[file].lacks_lines());
        for suspicion in suspicions {
            if lacks_lines {
                report.undecided(suspicion.property);
            } else {
                report.accuse(suspicion.violation);
            }
        }
    }
}
