//! A thread that asks `is_leader()` every millisecond.
//!
//! Its reports err on the side of the candidate, so that two leads that overlap in them did
//! overlap:
//!
//! - A lead begins after the first answer that it does, and ends before the last one.
//! - An answer counts only if it was given within [`QUICK`]: the times before and after it are then
//!   those of the answer.
//! - An answer without a tenure counts for the last one, if it is given twice: the end of a tenure
//!   may come in between.
//! - A lead is reported once it was seen twice. In between it lasted: no tenure begins again.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tenure::Candidate;

use super::process::Process;
use crate::engines::real::protocol::Report;
use crate::engines::real::stalls::STALL;
use crate::plan::SimTime;
use crate::trace::Event;

const EVERY: Duration = Duration::from_millis(1);
/// The longest time between the two readings of the clock around an answer that counts.
const QUICK: Duration = Duration::from_millis(1);
/// A lead that lasts is reported this often: a killed process does not report the end.
const STILL_EVERY: Duration = Duration::from_millis(5);

/// A lead, as the answers so far show it.
#[derive(Clone, Copy)]
struct Lead {
    token: u64,
    /// After the first answer.
    began: SimTime,
    /// Before the last answer.
    lasted: SimTime,
    /// The last time that was reported; `None` before the first report.
    reported: Option<SimTime>,
}

pub(super) fn start(process: &Arc<Process>) -> io::Result<()> {
    let process = Arc::clone(process);
    let sample = move || {
        let (mut lead, mut woke) = (None, process.now());
        loop {
            thread::sleep(EVERY);
            let (from, until) = (woke, process.now());
            if until.since(from) > STALL {
                process.report(&Report::Stalled { from, until });
            }
            lead = next(&process, lead);
            woke = process.now();
        }
    };
    thread::Builder::new().name("sampler".to_owned()).spawn(sample).map(drop)
}

fn next(process: &Process, lead: Option<Lead>) -> Option<Lead> {
    let (before, leads, token, after) = process.asks(|candidate| {
        let before = process.now();
        let leads = || candidate.is_some_and(Candidate::is_leader);
        let token = || candidate.and_then(Candidate::tenure).map(|tenure| tenure.token().get());
        let (is_leader, mut token_of) = (leads(), None);
        if is_leader {
            token_of = token();
            // An answer that no tenure stands behind, twice in a row: the tenure that it last led
            // in seems to go on.
            if token_of.is_none() && leads() && token().is_none() {
                token_of = lead.map(|lead| lead.token);
            }
        }
        (before, is_leader, token_of, process.now())
    });
    if leads && (token.is_none() || after.since(before) > QUICK) {
        // The tenure ended between the two questions, or the answer was slow.
        return lead;
    }
    let who = process.who;
    match (lead, token) {
        (Some(lead), Some(token)) if lead.token == token => {
            let mut lead = Lead { lasted: before, ..lead };
            match lead.reported {
                None => {
                    process.record_at(lead.began, Event::Leads { who, token });
                    lead.reported = Some(before);
                }
                Some(reported) if before.since(reported) >= STILL_EVERY => {
                    process.report(&Report::StillLeads { at: before });
                    lead.reported = Some(before);
                }
                Some(_) => {}
            }
            Some(lead)
        }
        (over, token) => {
            if let Some(Lead { lasted, reported: Some(_), .. }) = over {
                process.record_at(lasted, Event::LeadsNoMore { who });
            }
            token.map(|token| Lead { token, began: after, lasted: before, reported: None })
        }
    }
}
