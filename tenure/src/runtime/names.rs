//! The addresses of hosts, looked up by threads of this module's own.
//!
//! The system's lookup can't be cancelled: while a name server is silent it takes 10 s and more.
//! Among tokio's blocking tasks it would have the end of the runtime wait for it, and would itself
//! wait wherever an application's blocking work fills their pool. Nothing waits for the end of
//! these threads, and the end of the process ends them too.
//!
//! One lookup of a host is under way at a time, and all that need it share its outcome. So callers
//! that give up and ask again add no threads. An outcome for which no caller has waited long enough
//! is kept for a moment: where each lookup takes a little longer than its callers are patient, none
//! would ever learn of one.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

type Lookup = fn(&str) -> io::Result<Vec<SocketAddr>>;

type Outcome = Result<Vec<SocketAddr>, Arc<io::Error>>;

/// A lookup of a host.
enum State {
    /// It is under way, and these wait for it.
    UnderWay(Vec<oneshot::Sender<Outcome>>),
    /// It has found addresses, and all that had waited had given up.
    Unclaimed(Vec<SocketAddr>, Instant),
}

type Lookups = BTreeMap<String, State>;

/// The lifetime of addresses that were found too late.
const KEPT: Duration = Duration::from_secs(10);

static LOOKUPS: LazyLock<Mutex<Lookups>> = LazyLock::new(Mutex::default);

/// The addresses of a host with that port, in the order in which the system prefers them: at least
/// one.
///
/// # Errors
/// If it has none, or the lookup fails.
pub(super) async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let mut addresses = shared(host, system).await?;
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address")));
    }
    for address in &mut addresses {
        address.set_port(port);
    }
    Ok(addresses)
}

fn system(host: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((host, 0).to_socket_addrs()?.collect())
}

/// The outcome of the lookup of that host that is under way, or of a new one.
async fn shared(host: &str, lookup: Lookup) -> io::Result<Vec<SocketAddr>> {
    let (waiting, outcome) = oneshot::channel();
    if wait(host, waiting) {
        begin(host.to_owned(), lookup);
    }
    match outcome.await {
        Ok(Ok(addresses)) => Ok(addresses),
        // Such an error can't be copied. Those of a lookup differ by their texts alone.
        Ok(Err(error)) => Err(io::Error::new(error.kind(), error)),
        Err(_) => Err(io::Error::other("the lookup has ended without an outcome")),
    }
}

/// Adds one that waits. True if a lookup has to begin.
fn wait(host: &str, waiting: oneshot::Sender<Outcome>) -> bool {
    let mut lookups = lookups();
    match lookups.get_mut(host) {
        Some(State::UnderWay(all)) => {
            all.retain(|one| !one.is_closed());
            all.push(waiting);
            false
        }
        Some(State::Unclaimed(addresses, found)) if found.elapsed() < KEPT => {
            let _ = waiting.send(Ok(std::mem::take(addresses)));
            lookups.remove(host);
            false
        }
        Some(State::Unclaimed(..)) | None => {
            lookups.insert(host.to_owned(), State::UnderWay(vec![waiting]));
            true
        }
    }
}

fn begin(host: String, lookup: Lookup) {
    let name = host.clone();
    let thread = thread::Builder::new().name("tenure-lookup".to_owned());
    // Never joined.
    if let Err(error) = thread.spawn(move || end(&host, lookup(&host))) {
        // There are too many.
        end(&name, Err(error));
    }
}

fn end(host: &str, outcome: io::Result<Vec<SocketAddr>>) {
    let outcome = outcome.map_err(Arc::new);
    let mut lookups = lookups();
    let Some(State::UnderWay(waiting)) = lookups.remove(host) else { return };
    let mut was_claimed = false;
    for one in waiting {
        was_claimed |= one.send(outcome.clone()).is_ok();
    }
    if let (false, Ok(addresses)) = (was_claimed, outcome) {
        lookups.insert(host.to_owned(), State::Unclaimed(addresses, Instant::now()));
    }
}

fn lookups() -> MutexGuard<'static, Lookups> {
    // No step panics half way.
    LOOKUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn an_address_needs_no_lookup() {
        for (text, shown) in [("127.0.0.1", "127.0.0.1:7"), ("::1", "[::1]:7")] {
            let found = addresses(text, 7).await.unwrap();
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [shown]);
        }
    }

    #[tokio::test]
    async fn a_name_that_does_not_exist_is_an_error_of_each_caller() {
        let (one, two) = tokio::join!(addresses("name.invalid", 7), addresses("name.invalid", 7));
        assert!(one.is_err() && two.is_err());
    }

    #[test]
    fn an_outcome_that_came_too_late_serves_the_next_caller() {
        let (waiting, outcome) = oneshot::channel();
        assert!(wait("a.slow.test", waiting), "a lookup begins");
        drop(outcome);
        end("a.slow.test", Ok(vec![([127, 0, 0, 1], 0).into()]));
        let (waiting, mut outcome) = oneshot::channel();
        assert!(!wait("a.slow.test", waiting));
        assert_eq!(outcome.try_recv().unwrap().unwrap().len(), 1);
        let (waiting, _outcome) = oneshot::channel();
        assert!(wait("a.slow.test", waiting), "it serves no other");
        end("a.slow.test", Err(io::ErrorKind::NotFound.into()));
        assert!(!lookups().contains_key("a.slow.test"), "an error is not kept");
    }

    /// Callers that gave up leave nothing behind, and those that still wait share one outcome.
    #[test]
    fn one_lookup_serves_all_callers() {
        static LOOKED_UP: AtomicUsize = AtomicUsize::new(0);
        static SILENT: Mutex<Option<mpsc::Receiver<()>>> = Mutex::new(None);
        #[allow(clippy::unnecessary_wraps, reason = "as lookups are")]
        fn silent(_: &str) -> io::Result<Vec<SocketAddr>> {
            LOOKED_UP.fetch_add(1, Ordering::SeqCst);
            let silence = SILENT.lock().unwrap().take().unwrap();
            silence.recv().unwrap();
            Ok(vec![([127, 0, 0, 1], 0).into()])
        }
        let (speaks, silence) = mpsc::channel();
        *SILENT.lock().unwrap() = Some(silence);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for _ in 0..100 {
                let asks = shared("a.silent.test", silent);
                tokio::time::timeout(Duration::from_millis(1), asks).await.unwrap_err();
            }
            let waiting = || match lookups().get("a.silent.test") {
                Some(State::UnderWay(all)) => all.iter().map(|one| !one.is_closed()).collect(),
                Some(State::Unclaimed(..)) | None => Vec::new(),
            };
            assert!(waiting().len() <= 2, "{} waiting", waiting().len());
            let last = tokio::spawn(shared("a.silent.test", silent));
            while !waiting().contains(&true) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            speaks.send(()).unwrap();
            assert_eq!(last.await.unwrap().unwrap().len(), 1);
        });
        assert_eq!(LOOKED_UP.load(Ordering::SeqCst), 1);
        assert!(!lookups().contains_key("a.silent.test"));
    }
}
