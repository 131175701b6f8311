//! The default name of a candidate.

use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, process};

/// A name of at most 88 bytes for one process of one machine since one boot: `host-pid-boot`, for
/// example `web-7f9c-1-3fa9c1d2`.
///
/// The process id alone is 1 in most containers, and so the same for all candidates of an election.
/// Where no boot id can be read, 8 random digits distinguish them. Not guaranteed: that two
/// processes never share it. A name is for people; no decision depends on it.
pub(super) fn default_name() -> Arc<str> {
    /// The name by process: a fork has another id. A process with many candidates reads and keeps
    /// it once.
    static KNOWN: Mutex<Option<(u32, Arc<str>)>> = Mutex::new(None);
    let process = process::id();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Some((of, name)) if *of == process => Arc::clone(name),
        Some(_) | None => {
            let name: Arc<str> = read_name(process).into();
            *known = Some((process, Arc::clone(&name)));
            name
        }
    }
}

fn read_name(process: u32) -> String {
    let read = |path: &str| fs::read_to_string(path).ok();
    // These files exist on Linux only.
    let host = read("/proc/sys/kernel/hostname")
        .or_else(|| env::var("HOSTNAME").ok())
        .or_else(|| env::var("COMPUTERNAME").ok());
    let boot = read("/proc/sys/kernel/random/boot_id").or_else(random);
    name(host.as_deref(), process, boot.as_deref())
}

fn random() -> Option<String> {
    getrandom::u32().ok().map(|random| format!("{random:08x}"))
}

/// The most characters of a host's name; Linux allows no more.
const HOST_MOST: usize = 64;
/// The most characters of a boot id: enough to distinguish boots of machines with the same name.
const BOOT_MOST: usize = 8;

fn name(host: Option<&str>, process: u32, boot: Option<&str>) -> String {
    let part = |text: Option<&str>, most: usize, unknown: &str| {
        let known = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
        let text: String =
            text.unwrap_or_default().trim().chars().filter(known).take(most).collect();
        if text.is_empty() { unknown.to_owned() } else { text }
    };
    let (host, boot) =
        (part(host, HOST_MOST, "unknown-host"), part(boot, BOOT_MOST, "unknown-boot"));
    format!("{host}-{process}-{boot}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Profile;

    #[test]
    fn the_name_has_host_process_and_boot() {
        let boot = Some("3fa9c1d2-7a5e-4d0b-9d0e-0c6d1c2b3a4f\n");
        assert_eq!(name(Some("web-7f9c\n"), 1, boot), "web-7f9c-1-3fa9c1d2");
        let own = default_name();
        assert!(own.contains(&format!("-{}-", process::id())), "{own}");
        assert!(Arc::ptr_eq(&own, &default_name()), "it is kept once");
    }

    #[test]
    fn unreadable_parts_are_unknown() {
        assert_eq!(name(None, 7, None), "unknown-host-7-unknown-boot");
        assert_eq!(name(Some(" \n"), 7, Some("\0")), "unknown-host-7-unknown-boot");
    }

    #[test]
    fn random_digits_differ() {
        let (one, two) = (random().unwrap(), random().unwrap());
        assert_eq!((one.len(), two.len()), (BOOT_MOST, BOOT_MOST));
        // Equal by chance once in 2^64 runs.
        assert!(one != two || random() != random(), "{one}");
    }

    #[test]
    fn the_longest_name_is_within_the_limit() {
        let name = name(Some(&"h".repeat(500)), u32::MAX, Some(&"b".repeat(500)));
        assert_eq!(name.len(), 64 + 1 + 10 + 1 + 8);
        Profile::new(name, "").unwrap();
    }
}
