//! The resource to which leaders write: a tenure takes it over first, then checks and writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::runtime::Runtime;
use tenure::{Config, Tenure, Token};

use super::process::Process;
use crate::engines::node::{self, NodeProcess};
use crate::engines::real::Target;
use crate::engines::real::protocol::{Brief, Place};
use crate::engines::real::resource::{NotWritten, Resource, Written};
use crate::plan::Point;
use crate::trace::Who;

/// The resource, as one candidate writes to it.
pub(super) struct Writer {
    target: Target,
    place: Place,
    writes: AtomicU64,
}

pub(super) type Job = node::Job<Process, Writer>;

pub(super) fn job(
    process: &Arc<Process>,
    runtime: Arc<dyn Runtime>,
    brief: &Brief,
    config: Config,
) -> Arc<Job> {
    let (target, place) = (brief.target, brief.resource.clone());
    let Who { node, life } = brief.who;
    Arc::new(Job {
        process: Arc::clone(process),
        election: 0,
        every: Duration::from_millis(brief.work.every_ms),
        config,
        runtime,
        draws: (brief.seed, (node as u64) << 48 | u64::from(life) << 32),
        begun: AtomicU64::new(0),
        resource: Writer { target, place, writes: AtomicU64::new(0) },
    })
}

impl node::Resource<Process> for Writer {
    /// `None` if the tenure has to take the resource over.
    type Connection = Option<Resource>;

    /// Writes to the part without a fence too if the fence refuses.
    async fn write(
        &self,
        (process, _): (&Arc<Process>, usize),
        tenure: &Tenure,
        connection: &mut Self::Connection,
    ) {
        let (who, token) = (process.who, tenure.token());
        let held = match connection.take() {
            Some(resource) => Some(resource),
            None => self.taken_over(token).await,
        };
        let Some(mut resource) = held else { return };
        let checked = process.now();
        if !tenure.is_current() {
            *connection = Some(resource);
            return;
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        let written = Written { who, token: token.get(), number, checked };
        let process = Arc::clone(process);
        // In a task of its own: once checked, a write is carried out, whatever becomes of the work.
        // A process that is paused in between carries it out when it resumes.
        let write = tokio::spawn(async move {
            process.stops_at(Point::Guard, None);
            // Only the account of the server shows what was written.
            let known = match resource.write(written).await {
                Ok(()) => true,
                Err(NotWritten::Refused) => resource.write_unfenced(written).await.is_ok(),
                Err(NotWritten::Unknown) => false,
            };
            known.then_some(resource)
        });
        // A panic has been printed.
        *connection = write.await.ok().flatten();
    }
}

impl Writer {
    async fn taken_over(&self, token: Token) -> Option<Resource> {
        let mut resource = Resource::connect(self.target, &self.place).await?;
        resource.take_over(token).await.ok()?;
        Some(resource)
    }
}
