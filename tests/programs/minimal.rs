//! The program of docs/getting-started.md: two processes on one file.

use std::path::Path;

use rustix::process::Signal;
use tenure_servers::undisturbed;

use super::program::{Program, example};

const LEADS: &str = "I lead, under token ";

fn start(folder: &Path) -> Program {
    Program::start(example("minimal").current_dir(folder))
}

#[test]
fn the_first_leader_waits_and_a_killed_one_is_replaced() {
    undisturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let first = start(folder.path());
        first.says("the store is new to this prefix");
        let before = first.number(LEADS);
        let mut second = start(folder.path());
        second.says("another candidate has the lease");
        first.signal(Signal::KILL);
        let after = second.number(LEADS);
        assert!(after > before, "{after} after {before}");

        let third = start(folder.path());
        third.says("another candidate has the lease");
        assert!(second.terminate().success());
        assert!(third.number(LEADS) > after);
    });
}
