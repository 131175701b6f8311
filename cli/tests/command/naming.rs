//! The choice of the store: sessions in which it is named, is not named, or should have been.

use std::fs;
use std::process::Output;

use super::hosts::Place;

fn session(place: &Place, script: &str) -> Output {
    let mut shell = place.shell(script);
    shell.env("TENURE_TTL", "5s").env("TENURE_RENEW_INTERVAL", "500ms").output().unwrap()
}

/// Its output, its complaints, and its status.
fn says(place: &Place, script: &str) -> (String, String, i32) {
    let Output { stdout, stderr, status } = session(place, script);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr), status.code().unwrap())
}

const ONLY_THIS_USER: &str = "only this user on this host";

#[test]
fn a_command_asks_the_store_of_its_run() {
    let place = Place::new();
    fs::write(place.file("store.url"), format!("sqlite://{}\n", place.file("b.db").display()))
        .unwrap();
    for run in [
        "TENURE_STORE=sqlite://$PWD/a.db tenure run outer",
        "tenure run outer --store-file store.url",
        "TENURE_STORE_FILE=store.url tenure run outer",
        // Of the two, the option counts.
        "TENURE_STORE=sqlite://$PWD/a.db tenure run outer --store-file store.url",
        "TENURE_STORE=own tenure run outer",
    ] {
        let script = format!("{run} -- sh -c 'cd /; tenure status outer'");
        let (printed, said, status) = says(&place, &script);
        assert!(
            printed.starts_with("outer: ") && printed.contains(" leads "),
            "{run}: {printed}{said}"
        );
        assert_eq!(status, 0, "{run}: {said}");
        assert!(!said.contains(ONLY_THIS_USER), "{run}: {said}");
    }
}

#[test]
fn a_command_without_its_store_is_refused() {
    let place = Place::new();
    for run in [
        "tenure run outer --store sqlite://$PWD/a.db",
        "tenure run outer",
        "tenure run outer --store own",
    ] {
        for inner in ["tenure run inner -- true", "tenure status outer", "tenure handover outer"] {
            let (_, said, status) = says(&place, &format!("{run} -- {inner}"));
            assert_eq!(status, 64, "{run}: {inner}: {said}");
            assert!(said.contains("TENURE_TOKEN is set") && said.contains("to own for"), "{said}");
        }
        let (printed, said, status) =
            says(&place, &format!("{run} -- tenure status job --store own"));
        assert_eq!((printed.as_str(), status), ("job: nobody leads\n", 1), "{run}: {said}");
    }
}

#[test]
fn a_store_that_is_empty_is_refused() {
    let place = Place::new();
    for name in ["TENURE_STORE", "TENURE_STORE_FILE"] {
        let (_, said, status) = says(&place, &format!("{name}= tenure run job -- true"));
        assert_eq!(status, 64, "{said}");
        assert!(said.contains(&format!("{name} is set and empty: set TENURE_STORE to")), "{said}");
    }
    for other in ["TENURE_STORE=own", "TENURE_STORE=memory:", "TENURE_REDIS_HOST=10.0.0.7"] {
        let (_, said, status) =
            says(&place, &format!("TENURE_STORE_FILE=store.url {other} tenure run job -- true"));
        assert_eq!(status, 64, "{said}");
        assert!(said.contains("are both set: unset one of them"), "{said}");
    }
}

#[test]
fn the_file_of_this_user_is_named_once() {
    let place = Place::new();
    for command in ["tenure run job -- true", "tenure status job", "tenure doctor"] {
        let (_, said, _) = says(&place, command);
        assert_eq!(said.matches(ONLY_THIS_USER).count(), 1, "{command}: {said}");
    }
    for command in ["tenure run job --store own -- true", "TENURE_STORE=own tenure run job -- true"]
    {
        let (_, said, status) = says(&place, command);
        assert!(status == 0 && !said.contains(ONLY_THIS_USER), "{command}: {said}");
    }
}

/// Some `sudo` keeps HOME: the user could not use a file of root's.
#[test]
fn root_makes_no_file_in_the_home_of_a_user() {
    let place = Place::new();
    let home = place.file("home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(12_345), Some(12_345)).unwrap_or_else(|error| {
        panic!("this test needs the right to change owners (root, or CAP_CHOWN): {error}")
    });
    let run = "XDG_STATE_HOME= HOME=$PWD/home tenure run job -- true";
    let (_, said, status) = says(&place, run);
    assert_eq!(status, 64, "{said}");
    assert!(said.contains("in a folder of user 12345") && said.contains("sudo its option -H"));
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
}

#[test]
fn a_look_creates_no_file_of_a_mistyped_name() {
    let place = Place::new();
    let store = "export TENURE_STORE=sqlite://$PWD/mistyped.db;";
    for (look, status) in [
        ("tenure status job", 2),
        ("tenure status job --wait-for leader --timeout 300ms", 2),
        ("tenure status --all", 69),
        ("tenure handover job", 69),
        ("tenure purge --older-than 1h", 69),
    ] {
        let (printed, said, ended) = says(&place, &format!("{store} {look}"));
        assert_eq!(ended, status, "{look}: {printed}{said}");
        assert!(
            (printed + &said).contains("mistyped.db does not exist: correct its name"),
            "{look}"
        );
        assert!(!place.file("mistyped.db").exists(), "{look}");
    }
    // It waits for a file that comes later.
    let script = format!(
        "{store} tenure status job --wait-for leader & look=$!; tenure run job -- sleep 600 & run=$!; \
         wait $look; status=$?; kill $run; wait $run; exit $status"
    );
    let (printed, said, status) = says(&place, &script);
    assert_eq!(status, 0, "{printed}{said}");
}
