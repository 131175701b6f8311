//! HTTP requests that only the leader serves: a layer for tower, and so for axum.

use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::Either;
use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use crate::store::Incumbent;
use crate::{Candidate, Role};

/// The header of a refusal that names the leader: the metadata of its candidate, if a header can
/// hold them.
pub const LEADER: HeaderName = HeaderName::from_static("tenure-leader");

/// Serves a request only while its candidate leads, and refuses the others.
///
/// A served request has the [`Tenure`](crate::Tenure) among its extensions. A refusal is
/// `503 Service Unavailable` without a body, with two headers:
///
/// - `tenure-leader` ([`LEADER`]): where the leader is, if the candidate knows one and the leader's
///   [metadata](crate::CandidateBuilder::metadata) are visible ASCII characters: set it to an
///   address.
/// - `Retry-After`: whole seconds, at least one. A candidate that waits for a lease or a quarantine
///   to end says how long that takes if nothing else happens; one that has left its election for
///   good omits the header.
///
/// The store is not asked: a refusal tells what the candidate last saw.
///
/// **Not guaranteed**: that the candidate still leads once the request has begun. The request is
/// served to its end. Ask [`Tenure::is_current`](crate::Tenure::is_current) before each step, and
/// [fence](crate::fence) what it writes.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::{Extension, Router, routing::post};
/// use tenure::leader_only::LeaderOnly;
/// use tenure::{Candidate, Tenure, store::Memory};
///
/// let candidate = Candidate::builder(Memory::new(), "orders")
///     .metadata("http://10.0.0.7:8080") // where others reach this process
///     .start()?;
/// let order = async |Extension(tenure): Extension<Tenure>| format!("under {}", tenure.token());
/// let app: Router = Router::new()
///     .route("/orders", post(order))
///     .route_layer(LeaderOnly::new(&candidate)) // the routes above it
///     .route("/healthz", axum::routing::get(async || "ok"));
/// # drop(app);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing unless it is added to a service"]
pub struct LeaderOnly {
    candidate: Candidate,
}

impl LeaderOnly {
    /// The layer for that candidate, of which it keeps a handle.
    pub fn new(candidate: &Candidate) -> Self {
        Self { candidate: candidate.clone() }
    }
}

impl<S> Layer<S> for LeaderOnly {
    type Service = LeaderOnlyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        LeaderOnlyService { candidate: self.candidate.clone(), inner }
    }
}

/// A service behind [`LeaderOnly`].
#[derive(Clone, Debug)]
pub struct LeaderOnlyService<S> {
    candidate: Candidate,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for LeaderOnlyService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<S::Response, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let Some(tenure) = self.candidate.tenure() else {
            return Either::Right(ready(Ok(refusal(&self.candidate.health().role))));
        };
        request.extensions_mut().insert(tenure);
        Either::Left(self.inner.call(request))
    }
}

fn refusal<R: Default>(role: &Role) -> Response<R> {
    let mut refusal = Response::new(R::default());
    *refusal.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    if let Role::Following { incumbent, .. } = role
        && let Some(address) = address(incumbent)
    {
        refusal.headers_mut().insert(LEADER, address);
    }
    if let Some(wait) = wait(role) {
        refusal.headers_mut().insert(RETRY_AFTER, wait.into());
    }
    refusal
}

fn address(leader: &Incumbent) -> Option<HeaderValue> {
    let is_text = |byte: &u8| byte.is_ascii_graphic();
    let metadata = Some(&leader.metadata).filter(|metadata| !metadata.is_empty());
    metadata.filter(|metadata| metadata.iter().all(is_text))?[..].try_into().ok()
}

/// Seconds until another attempt makes sense here.
fn wait(role: &Role) -> Option<u64> {
    let rounded_up = |wait: Duration| wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match role {
        Role::Following { incumbent, unchanged, .. } => {
            Some(rounded_up(incumbent.ttl.saturating_sub(*unchanged)).max(1))
        }
        Role::Watching { remaining } => Some(rounded_up(*remaining).max(1)),
        // It may have been elected since it was asked for its tenure.
        Role::Leading { .. } | Role::Campaigning { .. } | Role::HoldingOff => Some(1),
        Role::Stopping | Role::Stopped | Role::DriverGone => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::rc::Rc;
    use std::task::Waker;

    use futures_util::FutureExt;

    use super::*;
    use crate::store::Memory;
    use crate::{Config, FirstAttempt, HolderId, Tenure, Token};

    /// Answers with the token of the tenure, and counts what reached it.
    fn served(seen: &Cell<u32>, request: &Request<()>) -> Response<String> {
        seen.set(seen.get() + 1);
        let tenure = request.extensions().get::<Tenure>();
        Response::new(tenure.map(|tenure| tenure.token().to_string()).unwrap_or_default())
    }

    struct Inner(Rc<Cell<u32>>);

    /// A service that is busy, then ready, then broken.
    struct Busy(u32);

    impl Service<Request<()>> for Busy {
        type Response = Response<String>;
        type Error = &'static str;
        type Future = Ready<Result<Response<String>, &'static str>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
            self.0 += 1;
            match self.0 {
                1 => Poll::Pending,
                2 => Poll::Ready(Ok(())),
                _ => Poll::Ready(Err("broken")),
            }
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            ready(Err("on purpose"))
        }
    }

    impl Service<Request<()>> for Inner {
        type Response = Response<String>;
        type Error = Infallible;
        type Future = Ready<Result<Response<String>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<()>) -> Self::Future {
            ready(Ok(served(&self.0, &request)))
        }
    }

    fn ask(candidate: &Candidate, reached: u32) -> Response<String> {
        let seen = Rc::default();
        let mut service = LeaderOnly::new(candidate).layer(Inner(Rc::clone(&seen)));
        let Ok(answer) =
            service.call(Request::new(())).now_or_never().expect("nothing to wait for");
        assert_eq!(seen.get(), reached, "{answer:?}");
        answer
    }

    fn header(answer: &Response<String>, name: HeaderName) -> Option<&str> {
        answer.headers().get(name).map(|value| value.to_str().unwrap())
    }

    fn candidate(store: &Memory, name: &str, metadata: &[u8]) -> Candidate {
        let ttl = Duration::from_secs(30);
        let config = Config::builder(ttl).build().unwrap();
        let builder = Candidate::builder(store.clone(), "job").name(name).config(config);
        builder.metadata(metadata.to_vec()).start().unwrap()
    }

    #[tokio::test]
    async fn the_leader_serves_and_the_others_name_it() {
        let store = Memory::new();
        let leader = candidate(&store, "leader", b"http://10.0.0.7:8080");
        let answer = ask(&leader, 0);
        assert_eq!((answer.status().as_u16(), header(&answer, RETRY_AFTER)), (503, Some("1")));
        assert_eq!(header(&answer, LEADER), None, "nobody is known to lead");
        let tenure = leader.elected().await.unwrap();
        assert_eq!(ask(&leader, 1).body(), &tenure.token().to_string());

        let other = candidate(&store, "other", b"");
        assert!(matches!(other.first_attempt().await, Ok(FirstAttempt::Following(_))));
        let answer = ask(&other, 0);
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(header(&answer, LEADER), Some("http://10.0.0.7:8080"));
        let wait: u64 = header(&answer, RETRY_AFTER).unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");

        leader.stop().await.unwrap();
        let answer = ask(&leader, 0);
        assert_eq!((answer.status().as_u16(), header(&answer, RETRY_AFTER)), (503, None));
    }

    /// A caller that does not wait until the inner service is ready would overload it, or break its
    /// own contract.
    #[tokio::test]
    async fn the_inner_service_says_when_it_is_ready() {
        let store = Memory::new();
        let leader = candidate(&store, "leader", b"");
        leader.elected().await.unwrap();
        let mut service = LeaderOnly::new(&leader).layer(Busy(0));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(service.poll_ready(&mut context), Poll::Pending);
        assert_eq!(service.poll_ready(&mut context), Poll::Ready(Ok(())));
        assert_eq!(service.call(Request::new(())).await.unwrap_err(), "on purpose");
        assert_eq!(service.poll_ready(&mut context), Poll::Ready(Err("broken")));
    }

    /// Without a turn of the driver, as after a pause of the process.
    #[tokio::test]
    async fn a_lead_that_has_ended_by_the_clock_serves_nothing() {
        let config = Config::builder(Duration::from_secs(2)).build().unwrap();
        let builder = Candidate::builder(Memory::new(), "job").config(config);
        let (leader, driver) = builder.build().unwrap();
        let mut driver = Box::pin(driver.run());
        let tenure = tokio::select! {
            () = &mut driver => unreachable!("its candidate is here"),
            tenure = leader.elected() => tenure.unwrap(),
        };
        ask(&leader, 1);
        std::thread::sleep(tenure.remaining());
        assert_eq!(ask(&leader, 0).status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn metadata_that_no_header_can_hold_are_left_out() {
        for metadata in [&b""[..], b"a\r\nset-cookie: b", b"\xff", "größer".as_bytes(), b"a b"] {
            let store = Memory::new();
            let leader = candidate(&store, "leader", metadata);
            leader.elected().await.unwrap();
            let other = candidate(&store, "other", b"");
            assert!(matches!(other.first_attempt().await, Ok(FirstAttempt::Following(_))));
            let answer = ask(&other, 0);
            assert_eq!(header(&answer, LEADER), None, "{metadata:?}");
            assert!(header(&answer, RETRY_AFTER).is_some());
        }
    }

    #[test]
    fn a_wait_is_rounded_up() {
        let following = |remaining| {
            let (holder, metadata) = (HolderId::from_bits(1), bytes::Bytes::new());
            let (token, name) = (Token::FIRST, "leader".to_owned());
            let (ttl, renewed_ago, wanted) = (remaining, Duration::ZERO, None);
            let incumbent = Incumbent { token, holder, name, metadata, ttl, renewed_ago, wanted };
            Role::Following { incumbent, unchanged: Duration::ZERO, elapsed: Duration::ZERO }
        };
        let watching = |remaining| Role::Watching { remaining };
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2)] {
            let remaining = Duration::from_millis(millis);
            for role in [following(remaining), watching(remaining)] {
                assert_eq!(wait(&role), Some(seconds), "{role:?}");
            }
        }
    }
}
