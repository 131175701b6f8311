//! Messages on their way, and their fates.

use super::World;
use super::node::Tenure;
use super::op::Fate;
use tenure_core::{Input, Reply, Request, RequestId, Unknown};

/// Beyond this many messages of a kind, the oldest are lost: a queue of doubled ones must not grow.
const NETWORK_HOLDS: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) node: usize,
    pub(super) incarnation: u64,
    pub(super) id: RequestId,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) from: Sender,
    pub(super) request: Request,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) to: Sender,
    pub(super) result: Result<Reply, Unknown>,
}

impl World {
    pub(super) fn request_meets(&mut self, pick: u8, fate: Fate) {
        if self.requests.is_empty() {
            return;
        }
        let pick = usize::from(pick) % self.requests.len();
        let message = self.requests[pick];
        if matches!(fate, Fate::Arrives | Fate::Lost) {
            self.requests.remove(pick);
        }
        match fate {
            Fate::Arrives | Fate::Doubled => self.carry_out(message),
            Fate::Lost => {}
            Fate::Unknown => self.answered(Answer { to: message.from, result: Err(Unknown) }),
        }
        let surplus = self.requests.len().saturating_sub(NETWORK_HOLDS);
        self.requests.drain(..surplus);
    }

    /// No node and no clock changes, so that only a grant is checked.
    pub(super) fn carry_out(&mut self, message: Message) {
        let before = self.store.record;
        let reply = self.store.step(self.now, message.from, message.request);
        self.sights.answered(message.request, reply);
        if let Reply::Granted { token } = reply
            && before.is_none_or(|before| before.token != token)
        {
            self.margin_kept(message.from.node);
        }
        self.replies.push(Answer { to: message.from, result: Ok(reply) });
    }

    pub(super) fn reply_meets(&mut self, pick: u8, fate: Fate) {
        if self.replies.is_empty() {
            return;
        }
        let pick = usize::from(pick) % self.replies.len();
        let answer = self.replies[pick];
        if matches!(fate, Fate::Arrives | Fate::Lost) {
            self.replies.remove(pick);
        }
        match fate {
            Fate::Arrives | Fate::Doubled => self.answered(answer),
            Fate::Lost => {}
            Fate::Unknown => self.answered(Answer { result: Err(Unknown), ..answer }),
        }
        let surplus = self.replies.len().saturating_sub(NETWORK_HOLDS);
        self.replies.drain(..surplus);
    }

    pub(super) fn answered(&mut self, answer: Answer) {
        let node = &mut self.nodes[answer.to.node];
        if node.incarnation != answer.to.incarnation {
            return;
        }
        node.awaits.take_if(|id| *id == answer.to.id);
        let over = matches!(node.tenure, Tenure::Elected { over: true, .. });
        let renewed = matches!(answer.result, Ok(Reply::Renewed { .. }));
        self.sights.late_renewals |= over && renewed;
        self.handle(answer.to.node, Input::Reply { id: answer.to.id, result: answer.result });
    }
}
