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
        format!(
            "it takes {} and {} (`Config::explain().worst_case_failover`)",
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
    ] {
        assert!(page.contains(&figure), "docs/faq.md does not say: {figure}");
    }
}

#[test]
fn the_page_on_deploying_has_the_figures_of_the_settings() {
    let config = Config::normal();
    let page = read("docs/deploying.md").replace('\n', " ");
    for figure in [
        format!("`longest_stop`, {:.0} s at default", config.explain().longest_stop.as_secs_f64()),
        format!("leads after the TTL, {}", seconds(config.ttl())),
        format!("up to {}, `explain().largest_pause`", seconds(config.explain().largest_pause)),
        format!("up to the stop margin, {}, as a pause", seconds(config.stop_margin())),
    ] {
        assert!(page.contains(&figure), "docs/deploying.md does not say: {figure}");
    }
}
