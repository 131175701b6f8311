//! A candidate's health, in words for people: the status that service managers show, and the reason
//! for not being ready.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::{Health, Role, StoreHealth};

use crate::output::on_one_line;

/// One line on the role and the store. It changes only if the role or the store does, so it has no
/// time that passes.
#[derive(Debug, Default)]
pub(crate) struct StatusLine {
    /// The start of the present outage: computed once, since a difference of two clocks may vary by
    /// a second.
    unanswered_since: Option<String>,
}

impl StatusLine {
    pub(crate) fn of(&mut self, health: &Health) -> String {
        let role = role(&health.role);
        let StoreHealth::Unavailable { elapsed, cause, .. } = &health.store else {
            self.unanswered_since = None;
            return role;
        };
        let since = self.unanswered_since.get_or_insert_with(|| time_of_day(*elapsed));
        let cause = on_one_line(cause);
        format!("{role}; the store has not answered since {since} UTC: {cause}")
    }
}

/// The reason for not being ready, if there is one: a ready candidate takes part, and the store has
/// answered within `outage`.
pub(crate) fn not_ready(health: &Health, outage: Duration) -> Option<String> {
    if health.is_ready(outage) {
        return None;
    }
    Some(match (&health.store, &health.role) {
        (_, Role::Stopping | Role::Stopped | Role::DriverGone) => role(&health.role),
        (StoreHealth::NotAnswered, _) => "the store has not answered yet".to_owned(),
        (StoreHealth::Unavailable { elapsed, cause, .. }, _) => {
            format!("the store has not answered for {elapsed:.1?}: {cause}")
        }
        (_, Role::Following { incumbent, unchanged, .. }) => format!(
            "{} has not renewed its lease for {unchanged:.1?}, and no other candidate leads yet",
            on_one_line(&incumbent.name)
        ),
        (_, other) => role(other),
    })
}

fn role(role: &Role) -> String {
    match role {
        Role::Leading { token, .. } => format!("leads with token {token}"),
        Role::Following { incumbent, .. } => {
            format!("waiting: {} leads", on_one_line(&incumbent.name))
        }
        Role::Watching { .. } => {
            "waiting: the store is new or was restarted, and grants nothing for up to a TTL"
                .to_owned()
        }
        Role::Campaigning { .. } => "waiting: no leader is known".to_owned(),
        Role::HoldingOff => "waiting: its own lead has ended".to_owned(),
        Role::Stopping => "ending: gives the lead back".to_owned(),
        Role::Stopped | Role::DriverGone => "has left the election".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The time of day that long ago, in UTC, as `13:07:09`.
fn time_of_day(ago: Duration) -> String {
    let then = SystemTime::now().checked_sub(ago).unwrap_or(UNIX_EPOCH);
    let seconds = then.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}
