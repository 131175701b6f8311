//! A candidate without timers: it may ask at any moment, and it tells what it has watched for long
//! enough from what it has not.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::Past;
use tenure_core::{
    Acquire, HolderId, Loss, Mark, NameId, Reply, Request, RequestId, Sight, Stamp, Token,
    UnwatchedPast, WatchedStamp,
};

use super::rows::Statement;

/// The TTL and the quarantine.
pub(super) const TTL: Duration = Duration::from_secs(1);

/// The time at which something began; `None` once that was long enough ago.
pub(super) type Since = Option<u8>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    /// The number of its holder ids before this one.
    ids: u8,
    /// The time of the first acquire by this id.
    first: Since,
    /// The number of its requests that were sent.
    requests: u64,
    pub(super) asked: Option<Asked>,
    pub(super) lead: Option<Lead>,
    seen: Option<Token>,
    mark: Option<(Mark, Since)>,
    stamp: Option<Stamp>,
    /// The last answer told the stamp: nobody has watched it for long enough.
    is_told: bool,
    loss: Option<Loss>,
    past_since: Since,
}

/// A request whose statement was sent, and not answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) statement: Arc<Statement>,
    holder: HolderId,
    at: u8,
    /// The reply, if the statement is carried out.
    reply: Option<Reply>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    holder: HolderId,
    pub(super) token: Token,
    /// The time at which the request was sent that won or extended the lease last.
    since: u8,
}

impl Candidate {
    /// Its next request: that of the candidate with this index.
    pub(super) fn request(&self, index: usize) -> Request {
        let number = RequestId::new(self.requests + 1).unwrap_or(RequestId::FIRST);
        let stamp = self.stamp.filter(|_| self.is_told).map(|stamp| {
            let time = if self.is_settled() { TTL } else { Duration::ZERO };
            WatchedStamp { stamp, time }
        });
        if let Some(Lead { holder, token, .. }) = self.lead {
            return Request::Renew { holder, token, number, stamp };
        }
        Request::Acquire(Acquire {
            seen: self.seen,
            lost: self.loss.filter(|_| self.is_settled()),
            mark: self.mark.and_then(|(mark, since)| since.is_none().then_some(mark)),
            stamp,
            ..Acquire::new(self.holder(index), number, TTL, NameId::from_bits(index as u128))
        })
    }

    /// The holder of its next request.
    fn holder(&self, index: usize) -> HolderId {
        let own = HolderId::from_bits(u128::from(self.ids) * 2 + index as u128);
        self.lead.map_or(own, |lead| lead.holder)
    }

    fn is_settled(&self) -> bool {
        self.past_since.is_none()
    }

    /// Its request sends that statement, and has that reply if it is carried out.
    pub(super) fn sends(
        &mut self,
        now: u8,
        index: usize,
        statement: Arc<Statement>,
        reply: Option<Reply>,
    ) {
        let holder = self.holder(index);
        if self.lead.is_none() && reply.is_some() && self.first.is_none() {
            self.first = Some(now);
        }
        self.requests += u64::from(reply.is_some());
        self.asked = Some(Asked { statement, holder, at: now, reply });
    }

    /// Its statement was carried out or not, and it gets to know that.
    pub(super) fn is_answered(&mut self, now: u8, is_done: bool) {
        let Some(Asked { holder, at, reply, .. }) = self.asked.take() else { return };
        if let Some(reply) = reply.filter(|_| is_done) {
            self.takes(now, (holder, at), reply);
        }
    }

    /// Its request changes nothing, and is answered at once.
    pub(super) fn is_refused(&mut self, now: u8, index: usize, reply: Reply) {
        self.asked = None;
        self.takes(now, (self.holder(index), now), reply);
    }

    /// A reply to a request of that holder, sent at that time.
    fn takes(&mut self, now: u8, (holder, sent): (HolderId, u8), reply: Reply) {
        match reply {
            Reply::Granted { token } => {
                self.lead = Some(Lead { holder, token, since: sent });
                (self.seen, self.mark, self.first) = (self.seen.max(Some(token)), None, None);
                self.is_told = false;
            }
            Reply::Not(sight) => self.sees(now, &sight),
            Reply::Renewed { past, .. } => {
                if let Some(lead) = &mut self.lead {
                    lead.since = sent;
                }
                self.is_told(now, past);
            }
            Reply::Superseded { last } => {
                self.seen = self.seen.max(last);
                self.ends();
            }
            _ => {}
        }
    }

    fn sees(&mut self, now: u8, sight: &Sight) {
        self.is_told(now, sight.past);
        let loss = (sight.last < self.seen).then_some(Loss { last: sight.last });
        if loss.is_some() && self.loss != loss {
            self.past_since = Some(now);
        }
        self.loss = loss;
        self.seen = self.seen.max(sight.last);
        let known = self.mark;
        self.mark = sight.record.map(|record| record.mark()).map(|mark| match known {
            Some((before, since)) if before == mark => (mark, since),
            _ => (mark, Some(now)),
        });
    }

    fn is_told(&mut self, now: u8, past: Option<UnwatchedPast>) {
        self.is_told = past.is_some();
        if let Some(UnwatchedPast { stamp, .. }) = past
            && self.stamp != Some(stamp)
        {
            (self.stamp, self.past_since) = (Some(stamp), Some(now));
        }
    }

    fn ends(&mut self) {
        self.lead = None;
        self.takes_another_id();
    }

    fn takes_another_id(&mut self) {
        self.first = None;
        self.ids += 1;
    }

    /// The times at which something began that it watches.
    pub(super) fn watches(&self) -> impl Iterator<Item = u8> {
        let past = self.past_since.filter(|_| self.is_told || self.loss.is_some());
        self.mark.and_then(|(_, since)| since).into_iter().chain(past)
    }

    /// Lets time pass, so that whatever began then or before is long ago.
    pub(super) fn waits(&mut self, until: u8) {
        let is_over = |at: u8| at <= until;
        for since in
            [&mut self.past_since].into_iter().chain(self.mark.as_mut().map(|it| &mut it.1))
        {
            *since = since.filter(|at| !is_over(*at));
        }
        self.asked = self.asked.take().filter(|asked| !is_over(asked.at));
        if self.lead.is_some_and(|lead| is_over(lead.since)) {
            self.ends();
        }
        if self.first.is_some_and(is_over) {
            self.takes_another_id();
        }
    }

    /// All its times.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut u8> {
        let mark = self.mark.as_mut().and_then(|(_, since)| since.as_mut());
        let asked = self.asked.as_mut().map(|asked| &mut asked.at);
        let lead = self.lead.as_mut().map(|lead| &mut lead.since);
        let all = [self.first.as_mut(), self.past_since.as_mut(), mark, asked, lead];
        all.into_iter().flatten()
    }
}

/// True if a past is the same, but was watched for longer.
pub(super) fn is_watched_longer(before: Option<Past>, after: Option<Past>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    before.watched < after.watched && Past { watched: after.watched, ..before } == after
}
