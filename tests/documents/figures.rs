//! Figures in pages that follow from default settings.

use std::time::Duration;

use tenure::Config;

use super::read;

/// The form of pages: in seconds, with one digit.
fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[test]
fn the_questions_have_the_figures_of_the_settings() {
    let (normal, fast) = (Config::normal().explain(), Config::fast_failover().explain());
    let page = read("docs/faq.md").replace('\n', " ");
    for figure in [
        format!("at most {} at default settings, and retries", seconds(normal.validity)),
        format!("A pause of up to {} costs no lead", seconds(normal.largest_pause)),
        format!(
            "at most {} and {} (`Config::explain().worst_case_failover`)",
            seconds(normal.worst_case_failover),
            seconds(fast.worst_case_failover)
        ),
        format!(
            "at most {} commands a minute, a leader {}, at default settings ({} and {} with",
            normal.standby_commands_per_minute,
            normal.leader_commands_per_minute,
            fast.standby_commands_per_minute,
            fast.leader_commands_per_minute
        ),
        format!("can take {:.0} s at default settings", normal.longest_stop.as_secs_f64()),
    ] {
        assert!(page.contains(&figure), "docs/faq.md does not say: {figure}");
    }
}
