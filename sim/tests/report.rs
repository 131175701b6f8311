//! The page in a browser: it opens without an error, asks the network for nothing, and shows what
//! it should.
//!
//! The page writes its state into attributes of its body. Chromium prints what became of the page,
//! after a script that stands in for its user.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use serde_json::Value;
use tenure_sim::engines::Engine;
use tenure_sim::evidence::controls::Control;
use tenure_sim::judge::{Judging, Outcome, Which};
use tenure_sim::plan::{FaultKind, Plan, Scope, Work, swarm};
use tenure_sim::report::{CampaignPage, ITEMS_MOST, RunPage, campaign_page, run_page};
use tenure_sim::search::campaign::{Campaign, Failure, Seeds};

const CHROMIUM: &str = "chromium is needed: apt-get install chromium";

/// The data of a page.
pub(crate) fn data(html: &str) -> Value {
    let (_, data) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// A page after its use.
struct Shown {
    dom: String,
}

impl Shown {
    /// Opens a page at a place in it, and lets somebody use it.
    fn of(html: &str, hash: &str, used: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.html");
        let later = "const press = (key) => dispatchEvent(new KeyboardEvent('keydown', { key }));";
        let used = format!("<script>setTimeout(() => {{ {later} {used} }}, 500);</script></body>");
        std::fs::write(&file, html.replacen("</body>", &used, 1)).unwrap();
        let ran = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .args(["--virtual-time-budget=4000", "--dump-dom"])
            .arg(format!("file://{}{hash}", file.display()))
            .output()
            .unwrap_or_else(|error| panic!("{CHROMIUM}: {error}"));
        let dom = String::from_utf8(ran.stdout).unwrap();
        assert!(dom.contains("data-ready=\"true\""), "{}", String::from_utf8_lossy(&ran.stderr));
        Self { dom }
    }

    /// The same, and nothing went wrong in it.
    fn well(html: &str, hash: &str, used: &str) -> Self {
        let shown = Self::of(html, hash, used);
        assert_eq!(shown.state("errors"), "0", "{}", shown.body());
        shown
    }

    fn body(&self) -> &str {
        let from = self.dom.find("<body").unwrap();
        &self.dom[from..from + self.dom[from..].find('>').unwrap()]
    }

    /// An attribute of the body; the empty text if there is none.
    fn state(&self, name: &str) -> &str {
        let named = format!("data-{name}=\"");
        self.body().split(&named).nth(1).map_or("", |rest| rest.split('"').next().unwrap())
    }

    fn number(&self, name: &str) -> i64 {
        self.state(name).parse().unwrap_or_else(|_| panic!("{name} in {}", self.body()))
    }

    /// True if the page shows a text outside its scripts and data.
    fn says(&self, what: &str) -> bool {
        let visible: Vec<&str> = self
            .dom
            .split("<script")
            .enumerate()
            .map(|(index, part)| match part.split_once("</script>") {
                Some((_, after)) if index > 0 => after,
                _ => part,
            })
            .collect();
        visible.concat().contains(what)
    }
}

fn run(plan: &Plan) -> Outcome {
    Engine::Model.run(plan, Judging::KeepJudging(Which::All)).unwrap()
}

/// A run in which two sinks get a write too late.
fn violated() -> (Plan, Outcome) {
    let control: Control = "unfenced".parse().unwrap();
    let plan = control.plan(1);
    let outcome = run(&plan);
    assert!(outcome.judge.violation().is_some());
    (plan, outcome)
}

#[test]
fn pages_of_every_sort_open_without_an_error() {
    for (seed, kinds) in [(1, &FaultKind::ALL[..]), (27, &FaultKind::ALL[..]), (3, &[])] {
        let plan = swarm(seed, kinds, Scope::Model);
        let outcome = run(&plan);
        let shown = Shown::well(&run_page(&RunPage::of("model", &plan, &outcome)), "", "");
        assert!(shown.number("items") > 20, "{}", shown.body());
        assert!(shown.says(&format!("n{}", plan.nodes.len() - 1)));
    }
    let (plan, failure) = (swarm(1, &[], Scope::Model), Failure::Broke { what: "a bang".into() });
    let shown = Shown::well(&run_page(&RunPage::failed("model", &plan, &failure)), "", "");
    assert!(shown.says("the run broke down: a bang"));
}

#[test]
fn errors_and_requests_are_seen() {
    let (plan, outcome) = violated();
    let page = run_page(&RunPage::of("model", &plan, &outcome));
    assert!(!page.contains("http:") && !page.contains("https:"));
    let asks = "const one = new Image(); one.src = 'http://127.0.0.1:9/'; body.append(one);";
    let asks = asks.replace("body", "document.body");
    assert_eq!(Shown::of(&page, "", &asks).state("errors"), "1");
    assert_eq!(Shown::of(&page, "", "nothing.of.that.name();").state("errors"), "1");
}

#[test]
fn the_violation_is_gone_to() {
    let (plan, outcome) = violated();
    let page = run_page(&RunPage::of("model", &plan, &outcome));
    let violation = outcome.judge.violation().unwrap();
    let at = i64::try_from(violation.at.as_nanos()).unwrap();
    let ways = [("#violation", ""), ("", "press('v');"), ("", "jump.click();")];
    for (hash, used) in ways {
        let shown = Shown::well(&page, hash, used);
        assert_eq!((shown.state("selected"), shown.number("at")), ("violation", at));
        assert!((shown.number("from")..shown.number("to")).contains(&at));
        let whole = i64::try_from(outcome.simulated.as_nanos()).unwrap();
        assert!(shown.number("to") - shown.number("from") < whole / 2, "{}", shown.body());
        let what = violation.finding.to_string();
        assert!(shown.says(&what) && shown.says(violation.property.as_str()));
        let short = &data(&page)["run"]["violations"][0]["what"];
        assert!(shown.says(short.as_str().unwrap()) && *short != what, "{short}");
    }
    assert_eq!(Shown::well(&page, "", "").state("selected"), "");
}

/// One colour for the verdict and for what was found, whatever the verdict.
#[test]
fn verdict_and_violation_have_one_colour() {
    let (plan, outcome) = violated();
    let page = RunPage::of("model", &plan, &outcome);
    let expected = RunPage { as_expected: true, ..page.clone() };
    let alike = "const colour = (of) => getComputedStyle(of).color; \
                 document.body.dataset.alike = colour(verdict) === colour(document.querySelector('.first b'));";
    for (page, said) in [(page, "violated"), (expected, "violated as expected")] {
        let shown = Shown::well(&run_page(&page), "", alike);
        assert!(shown.state("alike") == "true" && shown.says(&format!(">{said}<")), "{said}");
    }
}

#[test]
fn an_address_leads_to_a_moment_and_events_are_stepped_through() {
    let (plan, outcome) = violated();
    let page = run_page(&RunPage::of("model", &plan, &outcome));
    let there = Shown::well(&page, "#t=12.5", "");
    assert!((12_400_000_000..12_600_000_000).contains(&there.number("at")), "{}", there.body());
    assert!((there.number("from")..there.number("to")).contains(&there.number("at")));
    let next = Shown::well(&page, "#t=12.5", "press('n'); press('n'); press('p');");
    assert!(next.number("at") >= there.number("at") && next.body() != there.body());
    let by_link = Shown::well(&page, "", "location.hash = 't=12.5';");
    assert_eq!(by_link.number("at"), there.number("at"));
}

#[test]
fn the_view_is_zoomed_panned_and_filtered() {
    let (plan, outcome) = violated();
    let page = run_page(&RunPage::of("model", &plan, &outcome));
    let wide = |shown: &Shown| shown.number("to") - shown.number("from");
    let whole = Shown::well(&page, "", "");
    let wheel = "view.dispatchEvent(new WheelEvent('wheel', { deltaY: -120, bubbles: true, \
                 clientX: view.getBoundingClientRect().left + 400 }));";
    for zoomed in ["press('+');", "document.getElementById('in').click();", wheel] {
        assert!(wide(&Shown::well(&page, "", zoomed)) < wide(&whole), "{zoomed}");
    }
    let panned = Shown::well(&page, "", "press('+'); press('ArrowRight');");
    assert!(panned.number("from") > Shown::well(&page, "", "press('+');").number("from"));
    assert_eq!(wide(&Shown::well(&page, "", "press('+'); press('0');")), wide(&whole));
    let typed = "filter.value = 'renew'; filter.dispatchEvent(new Event('input'));";
    let filtered = Shown::well(&page, "", typed);
    assert!((1..whole.number("shown")).contains(&filtered.number("shown")));
    let toggled = "document.querySelector('[data-kind=effect]').click();";
    assert!(Shown::well(&page, "", toggled).number("shown") < whole.number("shown"));
}

#[test]
fn of_a_long_run_some_is_left_out_and_the_page_says_so() {
    let mut plan = swarm(28, &FaultKind::ALL, Scope::Model);
    plan.calm_from_ms = 3_000_000;
    plan.work = Work { every_ms: 200, takes_us: 0, reads_first: false };
    let outcome = run(&plan);
    let shown = Shown::well(&run_page(&RunPage::of("model", &plan, &outcome)), "", "");
    assert!(shown.number("items") <= i64::try_from(ITEMS_MOST).unwrap());
    assert!(shown.number("items") > 9_000 && shown.number("left-out") > 1_000);
    assert!(shown.says(&format!("{} of its", shown.state("left-out"))), "no notice");
    let short = swarm(1, &[], Scope::Model);
    let outcome = run(&short);
    let shown = Shown::well(&run_page(&RunPage::of("model", &short, &outcome)), "", "");
    assert_eq!(shown.state("left-out"), "");
}

#[test]
fn what_a_run_says_is_never_taken_for_markup() {
    let (plan, outcome) = violated();
    let worst =
        "</script><script>document.body.dataset.errors = 9</script>\u{2028}<img src=x>&amp;";
    let mut page = RunPage::of("model", &plan, &outcome);
    page.failure = Some(worst.to_owned());
    page.again = worst.to_owned();
    let shown = Shown::well(&run_page(&page), "", "");
    assert!(shown.says("&lt;/script&gt;&lt;script&gt;") && !shown.says("<img"));
}

#[test]
fn a_campaign_is_shown_with_the_run_that_failed() {
    let campaign = Campaign {
        engine: Engine::Model,
        seeds: Seeds::range(1, 20),
        jobs: 1,
        faults: FaultKind::ALL.to_vec(),
        properties: None,
        check_determinism: false,
    };
    let summaries = [campaign.run(|| {})];
    let (plan, outcome) = violated();
    let failed = Some(RunPage::of("model", &plan, &outcome));
    let page = CampaignPage { summaries: &summaries, failed, ..CampaignPage::default() };
    let shown = Shown::well(&campaign_page(&page), "#violation", "");
    assert_eq!((shown.number("tables"), shown.state("selected")), (4, "violation"));
    for said in ["Sometimes-conditions", "leader-crashed", "single-leader", "store-loss"] {
        assert!(shown.says(said), "{said}");
    }
    let alone = CampaignPage { failed: None, ..page };
    assert_eq!(Shown::well(&campaign_page(&alone), "", "").state("items"), "");
}
