//! Plans as text.

use std::fmt::Display;

use super::{DAY_MS, Fault, Plan, PlanError, Program, SCHEMA, Settings, When};
use crate::plan::json::{self, SyntaxError};

/// The most candidates. A plan with more is probably a mistake.
const NODES_MOST: usize = 64;
/// The most faults. A plan with more is probably a mistake.
const FAULTS_MOST: usize = 10_000;
/// The longest plan, in bytes.
const TEXT_MOST: usize = 8 << 20;
/// The largest error of a clock's rate.
const RATE_MOST_PPM: u64 = 900_000;

impl Plan {
    /// Reads a plan from JSON, and checks that it can be carried out.
    ///
    /// # Errors
    /// If it is not a plan, with line, column and field; or if a value is out of its bounds.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        within("the text's length in bytes", text.len() as u64, 0, TEXT_MOST as u64)?;
        let mut json = serde_json::Deserializer::from_str(text);
        let plan: Self = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let field = error.path().to_string();
            syntax(&field, error.inner())
        })?;
        json.end().map_err(|error| syntax(".", &error))?;
        plan.check()?;
        Ok(plan)
    }

    /// The plan as JSON with line breaks.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| error.to_string())
    }

    /// Checks every value against its bounds.
    ///
    /// # Errors
    /// If a value is out of its bounds: its field, its value and the bound.
    pub fn check(&self) -> Result<(), PlanError> {
        within("schema", u64::from(self.schema), 1, u64::from(SCHEMA))?;
        within("nodes.length", self.nodes.len() as u64, 1, NODES_MOST as u64)?;
        for (index, node) in self.nodes.iter().enumerate() {
            within(format!("nodes[{index}].clock_offset_ms"), node.clock_offset_ms, 0, DAY_MS)?;
            rate(format!("nodes[{index}].clock_rate_ppm"), node.clock_rate_ppm)?;
        }
        rate("store.clock_rate_ppm", self.store.clock_rate_ppm)?;
        within("latency_us[1]", self.latency_us.1, self.latency_us.0, DAY_MS)?;
        within("work.every_ms", self.work.every_ms, 1, DAY_MS)?;
        within("work.takes_us", self.work.takes_us, 0, DAY_MS)?;
        let elections = u64::from(self.program.elections);
        within("program.elections", elections, 1, u64::from(Program::ELECTIONS_MOST))?;
        within("calm_from_ms", self.calm_from_ms, 1, DAY_MS)?;
        within("faults.length", self.faults.len() as u64, 0, FAULTS_MOST as u64)?;
        check_settings("settings", &self.settings)?;
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(settings) = &node.settings {
                check_settings(&format!("nodes[{index}].settings"), settings)?;
            }
        }
        self.configs()?;
        let check = |(index, fault)| self.check_fault(index, fault);
        self.faults.iter().enumerate().try_for_each(check)
    }

    fn check_fault(&self, index: usize, fault: &Fault) -> Result<(), PlanError> {
        let field = |name: &str| format!("faults[{index}].{name}");
        let last = self.nodes.len() as u64 - 1;
        let is_node = |name, node: Option<usize>| match node {
            Some(node) => within(field(name), node as u64, 0, last),
            None => Ok(()),
        };
        if let When::On(trigger) = fault.when {
            is_node("when.on.node", trigger.node)?;
            within(field("when.on.nth"), u64::from(trigger.nth), 1, u64::from(u32::MAX))?;
        }
        within(field("when"), fault.from_ms(), 0, self.calm_from_ms - 1)?;
        if fault.what.lasts() {
            within(field("for_ms"), fault.for_ms, 1, DAY_MS)?;
        } else {
            within(field("for_ms"), fault.for_ms, 0, 0)?;
        }
        is_node("what.node", fault.node())?;
        let name = fault.what.named().name();
        for (magnitude, value, bounds) in fault.what.bounded() {
            let field = field(&format!("what.{name}.{magnitude}"));
            within(field, value, *bounds.start(), *bounds.end())?;
        }
        Ok(())
    }
}

/// Checks that no sum of the settings overflows. [`Settings::config`] checks that they fit each
/// other.
fn check_settings(field: &str, settings: &Settings) -> Result<(), PlanError> {
    for (name, ms) in [
        ("ttl_ms", settings.ttl_ms),
        ("renew_interval_ms", settings.renew_interval_ms),
        ("request_timeout_ms", settings.request_timeout_ms),
        ("stop_margin_ms", settings.stop_margin_ms),
        ("retry_least_ms", settings.retry_least_ms),
        ("retry_most_ms", settings.retry_most_ms),
        ("poll_bound_ms", settings.poll_bound_ms),
        ("drain_bound_ms", settings.drain_bound_ms),
        ("quarantine_ms", settings.quarantine_ms),
    ] {
        within(format!("{field}.{name}"), ms, 0, DAY_MS)?;
    }
    within(format!("{field}.granularity_ns"), settings.granularity_ns, 0, DAY_MS * 1_000_000)
}

fn syntax(field: &str, error: &serde_json::Error) -> PlanError {
    let SyntaxError { line, column, field, what } = json::at(field, error);
    PlanError::Syntax { line, column, field, what }
}

fn within(field: impl Display, value: u64, least: u64, most: u64) -> Result<(), PlanError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(PlanError::out_of_bounds(field, value, &format!("{least} to {most}")))
}

fn rate(field: impl Display, ppm: i64) -> Result<(), PlanError> {
    if ppm.unsigned_abs() <= RATE_MOST_PPM {
        return Ok(());
    }
    let bound = format!("-{RATE_MOST_PPM} to {RATE_MOST_PPM}");
    Err(PlanError::out_of_bounds(field, ppm, &bound))
}

#[cfg(test)]
mod tests {
    use super::super::{
        Act, Backend, FaultKind, LinkFault, ProcessFault, Scope, Shows, What, swarm,
    };
    use super::*;

    fn plan() -> Plan {
        swarm(3, &FaultKind::ALL, Scope::Model)
    }

    fn error(text: &str) -> String {
        Plan::parse(text).expect_err("no plan").to_string()
    }

    #[test]
    fn a_written_plan_is_read_unchanged() {
        let (granularity_ms, shows) = (1, Shows::Changes);
        let backend = Backend {
            has_network: true,
            fails_over: false,
            is_watched: false,
            sets_clock: false,
            granularity_ms,
            shows,
            acts: &Act::ALL,
        };
        for seed in 0..1_000 {
            let scope = if seed < 500 { Scope::Model } else { Scope::Real(backend) };
            let plan = swarm(seed, &FaultKind::ALL, scope);
            let read = Plan::parse(&plan.to_text());
            assert_eq!(read.unwrap_or_else(|error| panic!("seed {seed}: {error}")), plan);
        }
    }

    #[test]
    fn invalid_plans_are_refused_with_line_and_field() {
        let text = plan().to_text();
        let seed = text.replacen("\"seed\": 3", "\"seed\": \"three\"", 1);
        assert_eq!(
            error(&seed),
            "line 3, column 17, field \"seed\": invalid type: string \"three\", expected u64"
        );
        let typo = text.replacen("ttl_ms", "tll_ms", 1);
        assert!(
            error(&typo).starts_with("line 5, column 12, field \"settings.tll_ms\": unknown field")
        );
        assert!(error("{").contains("line 1"), "{}", error("{"));
        assert!(error(&format!("{text} true")).contains("trailing characters"));
        let kind = text.replacen("\"what\": {\n", "\"what\": {\n\"gremlins\": {}, ", 1);
        assert!(error(&kind).contains("faults[0].what"), "{}", error(&kind));
    }

    #[test]
    fn errors_name_the_value_and_its_bound() {
        let refused = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            error(&plan.to_text())
        };
        assert_eq!(refused(|plan| plan.schema = 2), "field \"schema\" is 2, and must be 1 to 1");
        assert!(refused(|plan| plan.nodes.clear()).contains("nodes.length"));
        assert!(refused(|plan| plan.nodes[0].clock_rate_ppm = -2_000_000).contains("nodes[0]"));
        assert!(refused(|plan| plan.latency_us = (2, 1)).contains("must be 2 to"));
        assert!(refused(|plan| plan.settings.ttl_ms = 1).contains("settings of node 0"));
        assert!(refused(|plan| plan.calm_from_ms = 0).contains("calm_from_ms"));
        let with = |what, for_ms| {
            let mut plan = plan();
            plan.faults = vec![Fault { when: When::AtMs(1), for_ms, what }];
            error(&plan.to_text())
        };
        assert!(with(ProcessFault::Pause.at(Some(64)), 1).contains("faults[0].what.node"));
        assert!(with(ProcessFault::Pause.at(None), 0).contains("faults[0].for_ms"));
        assert!(with(LinkFault::Cut.at(None), 7).contains("must be 0 to 0"));
        assert!(with(LinkFault::Loss { permille: 1_001 }.at(None), 1).contains("permille"));
        let stopped = LinkFault::Throttle { bytes_per_second: 0 }.at(None);
        assert!(with(stopped, 1).contains("throttle.bytes_per_second"));
        assert!(with(What::Operator(Act::FlushData), 1).contains("must be 0 to 0"));
        assert!(with(What::Operator(Act::LockRow), 0).contains("faults[0].for_ms"));
    }

    #[test]
    fn acts_are_written_by_their_names() {
        let fault =
            r#"{ "when": { "at_ms": 5 }, "for_ms": 7, "what": { "operator": "lock-row" } }"#;
        let fault: Fault = serde_json::from_str(fault).expect("a fault");
        assert_eq!(fault.what, What::Operator(Act::LockRow));
        let text = serde_json::to_string(&fault).expect("text");
        assert!(text.ends_with(r#""what":{"operator":"lock-row"}}"#), "{text}");
    }

    #[test]
    fn sizes_and_settings_have_limits() {
        let refused = |change: &dyn Fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            error(&plan.to_text())
        };
        let fault = Fault { when: When::AtMs(1), for_ms: 0, what: LinkFault::Cut.at(None) };
        let many = refused(&|plan| plan.faults = vec![fault; FAULTS_MOST + 1]);
        assert_eq!(many, "field \"faults.length\" is 10001, and must be 0 to 10000");
        let long = refused(&|plan| plan.settings.ttl_ms = u64::MAX);
        assert!(long.starts_with("field \"settings.ttl_ms\" is 18446744073709551615"), "{long}");
        let coarse = refused(&|plan| {
            let granularity_ns = u64::MAX;
            plan.nodes[0].settings = Some(Settings { granularity_ns, ..plan.settings });
        });
        assert!(coarse.starts_with("field \"nodes[0].settings.granularity_ns\""), "{coarse}");
        let blank = " ".repeat(TEXT_MOST + 1);
        assert!(error(&blank).contains("the text's length"), "{}", error(&blank));
        error(&"[".repeat(1_000_000));
        let escape = plan().to_text().replacen("\"seed\"", "\"\\u001b[2J\"", 1);
        assert!(!error(&escape).contains('\u{1b}'), "{}", error(&escape));
    }
}
