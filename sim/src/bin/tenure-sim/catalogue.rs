//! Agreement of pages with the catalogues of kinds of faults, conditions and properties.

use serde::Serialize;
use serde_json::{Value, json};
use tenure_sim::engines::Engine;
use tenure_sim::engines::real::Target;
use tenure_sim::plan::{Assumption, FaultKind, Place, Scope};
use tenure_sim::search::campaign::expected;

const PAGE: &str = include_str!("../../../../docs/simulation/plans-and-faults.md");

fn name(value: impl Serialize) -> String {
    match json!(value) {
        Value::String(name) => format!("`{name}`"),
        other => panic!("{other} is no name"),
    }
}

fn names<T: Serialize>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(name).collect::<Vec<_>>().join(", ")
}

fn breaks(kind: FaultKind) -> String {
    let always = match kind.breaks() {
        [] => "-".to_owned(),
        some => names(some),
    };
    match kind.may_break() {
        Some((some, when)) => format!("{always}; {}, if {when}", names(some)),
        None => always,
    }
}

/// The engines that have a kind; of `real`, the stores, or those that lack it if they are fewer.
fn engines(kind: FaultKind) -> String {
    let has = |engine: Engine| engine.scope().kinds().contains(&kind);
    let simulate = Engine::ALL.iter().filter(|engine| has(**engine)).map(name);
    let (with, without): (Vec<_>, Vec<_>) =
        Target::ALL.into_iter().partition(|target| has(Engine::Real(*target)));
    let real = match (with.len(), without.len()) {
        (0, _) => None,
        (_, 0) => Some("`real`".to_owned()),
        (some, fewer) if fewer < some => Some(format!("`real` but for {}", names(without))),
        _ => Some(format!("`real` with {}", names(with))),
    };
    simulate.chain(real).collect::<Vec<_>>().join(", ")
}

fn table(places: &[Place]) -> String {
    let kinds = FaultKind::ALL.into_iter().filter(|kind| places.contains(&kind.place()));
    let row = |kind: FaultKind| {
        let what = kind.explanation().trim();
        format!("| {} | {what} | {} | {} |\n", name(kind), breaks(kind), engines(kind))
    };
    let head = "| fault | what happens | breaks | engines |\n|---|---|---|---|\n".to_owned();
    head + &kinds.map(row).collect::<String>()
}

#[test]
fn tables_of_faults_are_those_of_the_catalogue() {
    for places in
        [&[Place::Link][..], &[Place::Process, Place::Clock], &[Place::Store], &[Place::Operator]]
    {
        let table = table(places);
        assert!(PAGE.contains(&format!("\n\n{table}\n")), "the page has to say:\n\n{table}");
    }
}

#[test]
fn assumptions_name_the_kinds_that_break_them() {
    for assumption in Assumption::ALL {
        let row = format!("\n| {} | ", name(assumption));
        let (_, row) = PAGE.split_once(&row).unwrap_or_else(|| panic!("no {row:?}"));
        let row = row.lines().next().unwrap_or_default();
        for kind in FaultKind::ALL.into_iter().filter(|kind| kind.breaks().contains(&assumption)) {
            assert!(row.contains(&name(kind)), "{assumption:?} is broken by {kind}: {row}");
        }
    }
}

#[test]
fn pages_have_the_numbers_of_conditions_and_properties() {
    let [model, turmoil] = [Engine::Model, Engine::Turmoil].map(|engine| expected(engine).count());
    let campaigns = include_str!("../../../../docs/simulation/campaigns.md");
    let first_run = include_str!("../../../../docs/simulation/first-run.md");
    let judged = [Engine::Model, Engine::Turmoil].map(|engine| engine.properties().count());
    let judged = judged.map(|number| format!("{number} of {number}"));
    for (page, says) in [
        (campaigns, format!("A campaign has to reach {model} situations")),
        (campaigns, format!("{turmoil} are expected of `turmoil`")),
        (first_run, format!(" properties that compared something {:>17}", judged[0])),
        (first_run, format!(" {:>13}\n comparisons", judged[1])),
        (first_run, format!(" {model} / 0 ")),
    ] {
        assert!(page.contains(&says), "a page has to say: {says}");
    }
}

#[test]
fn sentences_name_the_kinds_of_the_catalogue() {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = |text: &str| assert!(page.contains(text), "the page has to say: {text}");
    let beyond = FaultKind::ALL.into_iter().filter(|kind| kind.is_beyond_the_assumptions());
    says(&format!(
        "leave out the kinds that break an assumption by themselves ({})",
        names(beyond)
    ));
    let of_a_process = FaultKind::ALL.into_iter().filter(|kind| kind.needs_a_process());
    says(&format!("do nothing while the process is down: {}.", names(of_a_process)));
    let [model, turmoil] = [Scope::Model, Scope::Turmoil].map(|scope| scope.kinds().len());
    says(&format!("the {model} kinds of `model` and the {turmoil} of `turmoil`"));
}
