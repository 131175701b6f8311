//! A handover, and a takeover after a crash.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tenure::{Candidate, Config, Event};
use tokio::task::JoinHandle;

use crate::Outcome;
use crate::place::Place;

/// Longer than what new candidates do at first, and than the least time between two hints.
const SETTLE: Duration = Duration::from_millis(300);

/// The name of the candidate that waits.
const SUCCESSOR: &str = "successor";

impl Place {
    /// A candidate that knows the leader and waits.
    async fn standby(&self, key: &str, config: Config) -> Outcome<Candidate> {
        let waiting = self.busy.as_ref().map(|busy| busy.waiting.clone());
        let waiting = waiting.unwrap_or_else(|| self.elections());
        let standby = waiting.candidate(key).name(SUCCESSOR).config(config).start()?;
        let mut events = standby.events();
        // A driver that runs already may have told before.
        let knows_leader = async {
            while !matches!(events.next().await, Some(Event::IncumbentChanged { .. }) | None) {}
        };
        let _ = tokio::time::timeout(SETTLE, knows_leader).await;
        tokio::time::sleep(SETTLE).await;
        Ok(standby)
    }

    /// From the call of `stop()` on the leader to the successor's election.
    pub(crate) async fn handover(&self, run: u32) -> Outcome<Duration> {
        let (leader, standby) = self.two(&format!("handover:{run}")).await?;
        let elected = elected(&standby);
        let began = Instant::now();
        leader.stop().await?;
        let at = elected.await??;
        standby.stop().await?;
        Ok(at - began)
    }

    /// From the call of `hand_over()` to the successor's election.
    pub(crate) async fn hand_over(&self, run: u32) -> Outcome<Duration> {
        let (leader, standby) = self.two(&format!("named:{run}")).await?;
        let elected = elected(&standby);
        let began = Instant::now();
        leader.hand_over(Some(SUCCESSOR)).await?;
        let at = elected.await??;
        leader.stop().await?;
        standby.stop().await?;
        Ok(at - began)
    }

    /// A leader, and a candidate that waits.
    async fn two(&self, key: &str) -> Outcome<(Candidate, Candidate)> {
        let config = self.configs[0];
        let leading = self.busy.as_ref().map(|busy| busy.leading.clone());
        let leading = leading.unwrap_or_else(|| self.elections());
        let leader = leading.candidate(key).config(config).start()?;
        leader.elected().await?;
        Ok((leader, self.standby(key, config).await?))
    }

    /// From a TTL after the last renewal of a crashed leader to the successor's election.
    pub(crate) async fn takeover(&self, run: u32) -> Outcome<Duration> {
        let (key, config) = (format!("takeover:{run}"), self.configs[1]);
        let (leader, driver) = Candidate::builder((self.connect)(), &key).config(config).build()?;
        let driving = tokio::spawn(driver.run());
        leader.elected().await?;
        let standby = self.standby(&key, config).await?;
        let elected = elected(&standby);
        // A first renewal may come up to an interval early, since renewals are spread: then the
        // look after it is late.
        tokio::time::sleep(2 * config.renew_interval()).await;
        driving.abort();
        // What was on its way has arrived by then.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let incumbent = standby.incumbent().await?.ok_or("the leader is gone already")?;
        let ends = Instant::now() + incumbent.ttl.saturating_sub(incumbent.renewed_ago);
        let at = elected.await??;
        standby.stop().await?;
        Ok(at.saturating_duration_since(ends))
    }
}

/// The start of the next tenure.
fn elected(standby: &Candidate) -> JoinHandle<Outcome<Instant>> {
    let standby = standby.clone();
    tokio::spawn(async move {
        standby.elected().await?;
        Ok(Instant::now())
    })
}
