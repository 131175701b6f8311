//! A candidate's process, as the engine holds it.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdin;
use std::thread;

use tenure_servers::{Preload, Worker};
use tokio::sync::mpsc::UnboundedSender;

use super::protocol::{Brief, Order, Report};
use super::{Message, broke};
use crate::engines::EngineError;
use crate::trace::Who;

/// The argument by which this program runs as a candidate.
pub const ARGUMENT: &str = "candidate";

pub(super) struct Subject {
    pub(super) who: Who,
    worker: Worker,
    /// `None` once it was told to end.
    orders: Option<ChildStdin>,
}

impl Subject {
    /// Starts the process. A thread passes on what it reports.
    pub(super) fn start(
        brief: &Brief,
        clock: Option<&Preload>,
        told: UnboundedSender<Message>,
    ) -> Result<Self, EngineError> {
        let who = brief.who;
        let program = std::env::current_exe().map_err(|error| broke(&error))?;
        let mut worker = match clock {
            Some(clock) => Worker::start_with_clock(&program, &[ARGUMENT], clock)?,
            None => Worker::start(&program, &[ARGUMENT])?,
        };
        let (orders, reports) = worker.pipes().ok_or_else(|| broke(&"a process has no pipes"))?;
        let reads = move || {
            for line in BufReader::new(reports).lines() {
                let Ok(line) = line else { break };
                let report = serde_json::from_str::<Report>(&line);
                let told_of = match report {
                    Ok(report) => Message::Report { who, report },
                    Err(_) => Message::Nonsense { who, line },
                };
                if told.send(told_of).is_err() {
                    return;
                }
            }
            // The run may be over.
            let _ = told.send(Message::Ended { who });
        };
        let named = thread::Builder::new().name(format!("reports of {who:?}"));
        named.spawn(reads).map_err(|error| broke(&error))?;
        let mut subject = Self { who, worker, orders: Some(orders) };
        subject.line(&serde_json::json!(brief));
        Ok(subject)
    }

    /// A process that has ended reads nothing more: that is reported by its own thread.
    pub(super) fn order(&mut self, order: Order) {
        self.line(&serde_json::json!(order));
    }

    fn line(&mut self, line: &serde_json::Value) {
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Pauses the process. Returns whether it is paused now.
    pub(super) fn pause(&self) -> bool {
        self.worker.pause().is_ok()
    }

    pub(super) fn resume(&self) {
        // It may have ended.
        let _ = self.worker.resume();
    }

    /// Lets the process open files and connections, or not. Without effect on one that has ended.
    pub(super) fn has_descriptors(&self, some: bool) {
        let _ = self.worker.may_open(some);
    }

    /// Tells the process to end by the end of its standard input.
    pub(super) fn ends(&mut self) {
        self.orders = None;
    }

    pub(super) fn kill(&mut self) -> Result<(), EngineError> {
        Ok(self.worker.kill()?)
    }
}
