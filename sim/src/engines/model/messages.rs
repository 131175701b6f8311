//! Messages between the nodes and the store, and how the store handles them.

use super::algorithm::{Algorithm, Input, Session, Visit};
use super::due::Due;
use super::link::{Passage, Way};
use super::server::{Request, Server};
use super::world::World;
use crate::engines::Kinds;
use crate::plan::{FaultKind, Point, RequestKind, SimTime};
use crate::trace::{Event, StoreStep};

impl<A: Algorithm> World<'_, A> {
    pub(super) fn subscribe(&mut self, node: usize) {
        let passage = self.pass(node, Way::ToNode);
        let session = self.session(node);
        self.deliver(&passage, session, || Due::Hint(session));
    }

    pub(super) fn send(&mut self, index: usize, id: A::Id, request: A::Request) {
        if self.nodes[index].runs() {
            self.fire(Point::Send, index, asking::<A>(request));
        }
        if self.nodes[index].runs() {
            self.transmit(index, id, request);
        } else if self.nodes[index].is_up {
            self.nodes[index].unsent.push((id, request));
        }
    }

    pub(super) fn transmit(&mut self, index: usize, id: A::Id, request: A::Request) {
        let node = &mut self.nodes[index];
        if !node.is_up {
            return;
        }
        node.unanswered.push(id);
        let (who, session) = (node.who, self.session(index));
        if let Some((_, asked)) = A::asked(request) {
            self.record(Event::Sent { who, id: A::number(id), request: asked });
        }
        let passage = self.pass(index, Way::ToStore);
        let request_of = Request { session, id, asks: request };
        self.deliver(&passage, session, || Due::Request(request_of));
        self.fire(Point::Sent, index, asking::<A>(request));
    }

    fn pass(&mut self, index: usize, way: Way) -> Passage {
        let lease_ends = self.store.kept.map_or(SimTime::START, |kept| kept.lease_ends);
        let node = &mut self.nodes[index];
        let passage = node.link.pass(self.at, way, [lease_ends, node.lead_ends]);
        let who = node.who;
        for fate in passage.fates.into_iter().flatten() {
            self.record(Event::Message { who, to_store: way == Way::ToStore, fate });
        }
        if passage.effects != Kinds::NONE {
            passage.effects.iter().for_each(|kind| self.took(kind, Some(index)));
        }
        passage
    }

    fn deliver(&mut self, passage: &Passage, session: Session, due: impl Fn() -> Due<A>) {
        if passage.held {
            self.nodes[session.node].held.push(due());
        }
        for at in [passage.arrives, passage.again].into_iter().flatten() {
            self.queue.put(at, due());
        }
    }

    pub(super) fn session(&self, node: usize) -> Session {
        Session { node, connection: self.nodes[node].link.connection }
    }

    /// A hold ends: the held messages are sent again, in order.
    pub(super) fn release_held(&mut self, node: usize) {
        for due in std::mem::take(&mut self.nodes[node].held) {
            let way = if let Due::Request(_) = due { Way::ToStore } else { Way::ToNode };
            let passage = self.pass(node, way);
            match passage.arrives {
                Some(at) => self.queue.put(at, due),
                None if passage.held => self.nodes[node].held.push(due),
                None => {}
            }
        }
    }

    /// A request reaches the store.
    pub(super) fn arrives(&mut self, request: Request<A>) {
        let server = self.server(request.session.node);
        if server.is_stalled {
            server.waiting.push(request);
            self.took(FaultKind::StoreStall, None);
        } else if !server.is_down {
            self.serve(request);
        } else if !server.is_silent {
            // The machine runs and reports that no process listens.
            self.refuse(request);
        }
    }

    fn server(&mut self, node: usize) -> &mut Server<A> {
        match &mut self.old {
            Some((stranded, old)) if *stranded == node => old,
            _ => &mut self.store,
        }
    }

    pub(super) fn serve(&mut self, request: Request<A>) {
        let (at, session) = (self.at, request.session);
        let (trust_empty_store, remembers) = (self.plan.store.trust_empty_store, self.remembers);
        if self.old.as_ref().is_some_and(|(stranded, _)| *stranded == session.node) {
            self.took(FaultKind::OldPrimary, Some(session.node));
        }
        self.steps += 1;
        let number = self.steps;
        let server = self.server(session.node);
        let visit = Visit {
            now: server.clock.read(at),
            server: server.number,
            trust_empty_store,
            session,
            first: server.is_first(session),
            number,
        };
        let before = server.record(at);
        let step = A::serve(&mut server.state, visit, request.asks);
        let after = server.record(at);
        if remembers {
            server.remember(at);
        }
        if let Some((holder, asked)) = A::asked(request.asks)
            && let Some(answer) = A::answered(step.reply)
        {
            let server = visit.server;
            let taken = StoreStep { server, holder, request: asked, answer, before, after };
            self.record(Event::Store(taken));
        }
        if step.granted {
            self.fire(Point::Grant, session.node, None);
        }
        self.answer(request, Some(step.reply));
        if step.hints {
            (0..self.nodes.len()).for_each(|node| self.subscribe(node));
        }
    }

    pub(super) fn refuse(&mut self, request: Request<A>) {
        self.answer(request, None);
    }

    fn answer(&mut self, request: Request<A>, reply: Option<A::Reply>) {
        let Request { session, id, .. } = request;
        if self.is_over(session) {
            return;
        }
        let passage = self.pass(session.node, Way::ToNode);
        self.deliver(&passage, session, || Due::Answer { session, id, reply });
    }

    /// True if the connection is closed: no process reads from it.
    fn is_over(&self, session: Session) -> bool {
        let node = &self.nodes[session.node];
        node.link.connection != session.connection || !node.is_up
    }

    pub(super) fn reply_arrives(
        &mut self,
        session: Session,
        id: A::Id,
        reply: Option<A::Reply>,
        of: Option<RequestKind>,
    ) {
        if self.is_over(session) {
            return;
        }
        if self.nodes[session.node].runs() {
            self.fire(Point::Reply, session.node, of);
        }
        self.pass_input(session.node, Input::Reply { id, reply });
    }

    pub(super) fn hinted(&mut self, session: Session) {
        if self.session(session.node) == session {
            self.pass_input(session.node, Input::Hint);
        }
    }
}

/// The kind of a request.
pub(super) fn asking<A: Algorithm>(request: A::Request) -> Option<RequestKind> {
    A::asked(request).map(|(_, asked)| asked.kind())
}

/// The kind of the request that a reply answers.
pub(super) fn of_reply<A: Algorithm>(reply: Option<A::Reply>) -> Option<RequestKind> {
    use crate::trace::Answer;
    reply.and_then(A::answered).and_then(|answer| match answer {
        Answer::Granted { .. } | Answer::Not { .. } => Some(RequestKind::Acquire),
        Answer::At { .. } => Some(RequestKind::Look),
        Answer::Renewed { .. } | Answer::Superseded => Some(RequestKind::Renew),
        Answer::Released | Answer::NotHeld => Some(RequestKind::Release),
        Answer::Other => None,
    })
}
