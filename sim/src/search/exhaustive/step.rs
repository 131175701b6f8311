//! One step: an action applied to a state, and judged.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{Moment, Record};
use tenure_core::{
    Config, Event, Input, Instant, Output, Reply, Request, Stamp, StepDownReason, Unknown, Watched,
};

use super::action::Action;
use super::bounds::{Bounds, TICK};
use super::judge::{self, Broken, Served};
use super::met::{Condition, Seen};
use super::state::{Body, Local, Message, State, Work, store_clock};
use super::subject::Subject;
use super::words::Layout;

/// The time for which a candidate that has resigned does not campaign.
const HOLD_OFF: Duration = Duration::from_nanos(TICK);

/// One step from a state, in progress.
pub(super) struct Step<'a, S> {
    pub(super) bounds: &'a Bounds,
    pub(super) config: Config,
    pub(super) layout: &'a Layout,
    pub(super) state: State<S>,
    pub(super) seen: &'a mut Seen,
}

impl<S: Subject> Step<'_, S> {
    pub(super) fn take(mut self, before: &State<S>, action: Action) -> Result<State<S>, Broken> {
        self.apply(action)?;
        judge::judge(self.bounds, before, &mut self.state, self.seen)?;
        Ok(self.state)
    }

    fn apply(&mut self, action: Action) -> Result<(), Broken> {
        let Self { state, .. } = self;
        match action {
            Action::Campaign(node) => return self.handle(node, Input::Campaign),
            Action::Tick => tick(state),
            Action::Wake(node) => return self.handle(node, Input::Wake),
            Action::Deliver { message, again } => return self.deliver(message, again),
            Action::Lose { message } => drop(state.messages.swap_remove(message)),
            Action::Hint(node) => {
                state.nodes[node].hinted = false;
                return self.handle(node, Input::Hint);
            }
            Action::EndWork(node) => {
                let ended = state.nodes[node].work.take().map(|work| work.token);
                if let Some(written) = &mut state.written
                    && Some(written.token) == ended
                {
                    // Work ends only after its last write has arrived.
                    written.under_way = false;
                }
                return self.handle(node, Input::Drained);
            }
            Action::BreakConnection(node) => {
                state.spend(|left| &mut left.breaks);
                let Some((id, _)) = state.nodes[node].pending.take() else { return Ok(()) };
                return self.handle(node, Input::Reply { id, result: Err(Unknown) });
            }
            Action::Pause(node) => {
                state.spend(|left| &mut left.pauses);
                if state.leads(node).is_some() {
                    self.seen.met(Condition::LeaderPaused);
                }
                state.nodes[node].paused = true;
            }
            Action::Resume(node) => state.nodes[node].paused = false,
            Action::Crash(node) => {
                state.spend(|left| &mut left.crashes);
                if state.leads(node).is_some() {
                    self.seen.met(Condition::LeaderCrashed);
                }
                self.crash(node);
            }
            Action::ReplaceStore { keeps_data } => {
                state.spend(|left| &mut left.store_losses);
                if (0..state.nodes.len()).any(|node| state.leads(node).is_some()) {
                    self.seen.met(Condition::StoreReplacedUnderALead);
                }
                replace_store(state, keeps_data);
            }
            Action::Resign(node) => {
                state.spend(|left| &mut left.resigns);
                return self.handle(node, Input::Resign { again_after: Some(HOLD_OFF) });
            }
            Action::ChangeRate { node, rate } => {
                state.spend(|left| &mut left.rate_changes);
                state.nodes[node].rate = rate;
            }
            Action::Want(wish) => {
                state.spend(|left| &mut left.wishes);
                let Some(lease) = state.store.record else { return Ok(()) };
                self.at_the_store(Request::Want { token: lease.token, wish })?;
            }
        }
        Ok(())
    }

    fn crash(&mut self, index: usize) {
        self.state.nodes[index].restart(index, self.config, self.layout);
        // Its connections are closed. Requests that it has sent may still arrive; replies to it
        // can't.
        self.state.messages.retain(|message| match message.body {
            Body::Request(_) => true,
            Body::Reply(_) => message.node != index,
        });
    }

    fn deliver(&mut self, index: usize, again: bool) -> Result<(), Broken> {
        let message = self.state.messages[index];
        if again {
            self.state.spend(|left| &mut left.duplicates);
            self.seen.met(Condition::Duplicated);
        } else {
            self.state.messages.swap_remove(index);
        }
        match message.body {
            Body::Request(request) => self.serve(message, request),
            Body::Reply(reply) => {
                let node = &mut self.state.nodes[message.node];
                if node.pending.is_some_and(|(id, _)| id == message.id) {
                    node.pending = None;
                } else {
                    self.seen.met(Condition::LateReply);
                }
                let input = Input::Reply { id: message.id, result: Ok(reply) };
                self.handle(message.node, input)
            }
        }
    }

    fn at_the_store(&mut self, request: Request) -> Result<Reply, Broken> {
        let State { store, tick, .. } = &mut self.state;
        let (record, marked) = (store.record, store.marked);
        let moment = Moment {
            now: Instant::from_nanos(store_clock(*tick)),
            identity: store.server.into(),
            fresh: Stamp::from_bits(store.stamps.into()),
            // All connections to another server are new. Its first step names it in the past, and
            // after that no connection's first request differs from the others.
            first: true,
            trust_empty_store: false,
        };
        let reply = S::serve((&mut store.record, &mut store.past), moment, request);
        self.seen.note(|| format!("the store answers {reply:?}"));
        if store.past.is_some_and(|past| past.stamp == moment.fresh) {
            store.stamps += 1;
        }
        if store.record.map(|record| record.mark()) != record.map(|record| record.mark()) {
            store.marked = *tick;
        }
        let is_kept = |record: Option<Record>| record.is_some_and(|one| one.reservation.is_some());
        if is_kept(store.record) && !is_kept(record) {
            store.kept_since = *tick;
        }
        store.first_step.get_or_insert(*tick);
        let served = Served { tick: *tick, record, marked, request, reply };
        judge::store_step(self.bounds, store, &served, self.seen)?;
        Ok(reply)
    }

    fn serve(&mut self, message: Message, request: Request) -> Result<(), Broken> {
        let reply = self.at_the_store(request)?;
        let State { nodes, messages, .. } = &mut self.state;
        let node = &nodes[message.node];
        let is_alive = node.life == message.life;
        if !is_alive || node.pending.is_none_or(|(id, _)| id != message.id) {
            self.seen.met(Condition::LateRequest);
        }
        if is_alive {
            let body = Body::Reply(reply);
            messages.push(Message::new(message.node, message.life, message.id, body));
        }
        if reply == Reply::Released {
            for node in nodes.iter_mut() {
                node.hinted = true;
            }
        }
        Ok(())
    }

    fn handle(&mut self, index: usize, input: Input) -> Result<(), Broken> {
        let now = self.state.nodes[index].now();
        let mut machine = self.state.nodes[index].handle(input);
        self.outputs(index, &mut machine)?;
        // Each request leaves as soon as it can.
        while machine.pending().is_some() {
            machine.handle(now, Input::Admitted);
            self.outputs(index, &mut machine)?;
        }
        let node = &mut self.state.nodes[index];
        node.local = Arc::new(Local::new(machine, self.layout));
        judge::not_stuck(node)
    }

    fn outputs(&mut self, index: usize, machine: &mut S) -> Result<(), Broken> {
        while let Some(output) = machine.poll() {
            self.seen.note(|| format!("n{index} outputs {output:?}"));
            match output {
                Output::Send { id, request, give_up_at } => {
                    let node = &mut self.state.nodes[index];
                    judge::no_release_under_work(node, request)?;
                    node.pending = Some((id, give_up_at));
                    let message = Message::new(index, node.life, id, Body::Request(request));
                    self.state.messages.push(message);
                }
                Output::Event(event) => self.observe(index, event)?,
            }
        }
        Ok(())
    }

    fn observe(&mut self, index: usize, event: Event) -> Result<(), Broken> {
        let node = &mut self.state.nodes[index];
        let condition = match event {
            Event::Elected(claim) => {
                judge::elected(node)?;
                node.work = Some(Work { token: claim.token(), drain_until: None });
                Condition::Elected
            }
            Event::SteppedDown { token, reason, drain_until } => {
                judge::stepped_down(node, token)?;
                node.work = Some(Work { token, drain_until: Some(drain_until) });
                match reason {
                    StepDownReason::Expired => Condition::Expired,
                    StepDownReason::Superseded => Condition::Superseded,
                    StepDownReason::HandedOver => Condition::HandedOver,
                    _ => Condition::Resigned,
                }
            }
            Event::DrainUntil { token, until } => {
                if let Some(work) = node.work.as_mut().filter(|work| work.token == token) {
                    work.drain_until = Some(until);
                }
                Condition::KeptWhileDraining
            }
            Event::Renewed(_) => Condition::Renewed,
            Event::Watching { watched: Watched::Past, .. } => Condition::WatchedThePast,
            _ => return Ok(()),
        };
        self.seen.met(condition);
        Ok(())
    }
}

fn tick<S>(state: &mut State<S>) {
    state.tick += 1;
    for node in &mut state.nodes {
        node.clock += node.rate.per_tick();
    }
}

fn replace_store<S>(state: &mut State<S>, keeps_data: bool) {
    let store = &mut state.store;
    store.server += 1;
    store.before = store.highest;
    store.first_step = None;
    if !keeps_data {
        store.record = None;
        store.past = None;
    }
}
