//! A node's machine: its network, its clock, and the process on it, if one runs.

use tokio::sync::mpsc::UnboundedSender;

use super::link::Link;
use super::protocol::{Brief, Order};
use super::server::Entrance;
use super::subject::Subject;
use super::{Message, broke};
use crate::engines::EngineError;
use crate::plan::{LinkFault, SimTime};
use crate::trace::Who;

pub(super) struct Machine {
    pub(super) link: Link,
    /// The brief of the process's next life.
    brief: Brief,
    subject: Option<Subject>,
    told: UnboundedSender<Message>,
    /// True if the process has sent a request: it has opened by then what it can't start without.
    has_asked: bool,
    /// The faults that leave it no descriptors: when each began, and how many connections had been
    /// made before. `None` for one that began while it was starting.
    without_descriptors: Vec<Option<(SimTime, u64)>>,
    /// The last failure of a request.
    pub(super) failed: SimTime,
    /// The times at which it was paused, and until when.
    paused: Vec<(SimTime, SimTime)>,
    /// The requests that were sent and not answered, with the times at which they were sent.
    pub(super) unanswered: Vec<(u64, SimTime)>,
}

impl Machine {
    pub(super) async fn new(
        brief: Brief,
        entrance: Entrance,
        told: UnboundedSender<Message>,
    ) -> Result<Self, EngineError> {
        let link = Link::new(entrance).await.map_err(|error| broke(&error))?;
        let mut machine = Self {
            link,
            brief,
            subject: None,
            told,
            has_asked: false,
            without_descriptors: Vec::new(),
            failed: SimTime::START,
            paused: Vec::new(),
            unanswered: Vec::new(),
        };
        machine.starts()?;
        Ok(machine)
    }

    pub(super) fn who(&self) -> Who {
        self.brief.who
    }

    /// True if a process of that life runs.
    pub(super) fn runs(&self, who: Who) -> bool {
        self.subject.is_some() && self.brief.who == who
    }

    fn starts(&mut self) -> Result<(), EngineError> {
        self.brief.store = self.link.place();
        self.has_asked = false;
        self.subject = Some(Subject::start(&self.brief, self.link.clock(), self.told.clone())?);
        Ok(())
    }

    /// Orders reach a process that runs.
    pub(super) fn order(&mut self, order: Order) {
        if let Order::StepClock { by_ms } = order {
            // Also the next process on this machine has that clock.
            self.brief.stepped_ms = self.brief.stepped_ms.saturating_add(by_ms);
        }
        if let Some(subject) = &mut self.subject {
            subject.order(order);
        }
    }

    /// A pause begins. Returns whether the process is paused by it.
    pub(super) fn pause(&mut self, now: SimTime) -> bool {
        self.paused.push((now, SimTime::NEVER));
        self.subject.as_ref().is_some_and(Subject::pause)
    }

    /// All pauses are over.
    pub(super) fn unpause(&mut self, now: SimTime) {
        self.ends_pauses(now);
        if let Some(subject) = &self.subject {
            subject.resume();
        }
    }

    fn ends_pauses(&mut self, now: SimTime) {
        self.paused.iter_mut().filter(|(_, until)| *until == SimTime::NEVER).for_each(
            |(_, until)| {
                *until = now;
            },
        );
    }

    /// The process has sent a request, and has had no answer yet.
    pub(super) fn asked(&mut self, id: u64, at: SimTime) {
        self.has_asked = true;
        self.unanswered.push((id, at));
    }

    /// The process can open nothing more from now on, and its connections break. Does nothing to
    /// one that is starting, which would end.
    pub(super) fn takes_descriptors(&mut self, now: SimTime) {
        let subject = self.subject.as_ref().filter(|_| self.has_asked);
        self.without_descriptors.push(subject.map(|_| (now, self.link.connections())));
        if let Some(subject) = subject {
            subject.has_descriptors(false);
            self.link.breaks(LinkFault::Cut);
        }
    }

    /// Returns whether the process missed them: a request has failed meanwhile, and no connection
    /// was made.
    pub(super) fn gives_descriptors(&mut self) -> bool {
        let missed = self.without_descriptors.pop().flatten();
        let was_missed = missed.is_some_and(|(began, connections)| {
            self.failed > began && self.link.connections() == connections
        });
        if self.without_descriptors.is_empty()
            && let Some(subject) = &self.subject
        {
            subject.has_descriptors(true);
        }
        was_missed
    }

    /// True if a pause explains that the process did not run for that time.
    pub(super) fn was_paused(&self, from: SimTime, until: SimTime) -> bool {
        self.paused.iter().any(|(began, ended)| *began <= until && from <= *ended)
    }

    /// A crash begins. Returns the process that has died of it.
    pub(super) async fn crash(&mut self, power: bool) -> Result<Option<Who>, EngineError> {
        if power {
            self.link.loses_power().await.map_err(|error| broke(&error))?;
        }
        let Some(mut subject) = self.subject.take() else { return Ok(None) };
        subject.kill()?;
        self.unanswered.clear();
        Ok(Some(subject.who))
    }

    /// No crash keeps the process down any more. Returns the process that has started.
    pub(super) fn revive(&mut self, now: SimTime) -> Result<Option<Who>, EngineError> {
        if self.subject.is_some() {
            return Ok(None);
        }
        self.without_descriptors.clear();
        self.ends_pauses(now);
        self.brief.who.life += 1;
        self.starts()?;
        Ok(Some(self.brief.who))
    }

    /// True if a request that was sent at such a time has no answer.
    pub(super) fn waits_since(&self, sent: impl Fn(SimTime) -> bool) -> bool {
        self.unanswered.iter().any(|(_, at)| sent(*at))
    }

    /// The run is over: the process is told to end.
    pub(super) fn ends(&mut self) {
        if let Some(subject) = &mut self.subject {
            subject.ends();
        }
    }
}
