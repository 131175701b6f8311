//! Stories that every store with a server lives through: each is one function over a
//! [`TestServer`], and [`story!`] makes a test of it for every store of its list.

/// Makes a test of a story for each of these stores; by default, for all of [`servers`].
macro_rules! story {
    ($story:ident) => {
        story!($story: redis_rs, fred, postgres, etcd, kubernetes, mysql);
    };
    ($story:ident: $($store:ident),+) => {
        mod $story {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $store() {
                super::$story(crate::stores::stories::servers::$store()).await;
            })+
        }
    };
}

/// Makes one test for each store of stories that mostly wait: they are lived through at the same
/// time, each with a server of its own.
macro_rules! stories {
    ($name:ident: $($story:ident),+) => {
        mod $name {
            stories!(in redis_rs: $($story),+);
            stories!(in fred: $($story),+);
            stories!(in postgres: $($story),+);
            stories!(in etcd: $($story),+);
            stories!(in kubernetes: $($story),+);
            stories!(in mysql: $($story),+);
        }
    };
    (in $store:ident: $($story:ident),+) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $store() {
            use crate::stores::stories::servers::$store as server;
            let together = [$(tokio::spawn(super::$story(server()))),+];
            futures_util::future::try_join_all(together).await.unwrap();
        }
    };
}

mod addresses;
mod blocking;
mod cancellation;
mod causes;
pub(crate) mod clock;
mod damaged;
mod dials;
mod elections;
mod idle;
mod isolation;
mod many;
mod messages;
mod metadata;
mod network;
mod outage;
mod outside;
pub(crate) mod purge;
mod restarts;
mod server;
mod servers;
mod subscriptions;
mod wakeup;

use server::{TestServer, proxy};
