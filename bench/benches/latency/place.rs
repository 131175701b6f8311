//! The stores that are measured, with servers of their own.

use std::time::Duration;

use tenure::store::{AnyStore, Memory};
use tenure::{Candidate, Config, Elections};

use crate::Outcome;

/// A store of this benchmark's own.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    /// For handovers, and for crashes.
    pub(crate) configs: [Config; 2],
    /// Another connection to it.
    pub(crate) connect: Box<dyn Fn() -> AnyStore>,
    pub(crate) busy: Option<Busy>,
}

/// Two drivers, the first of which leads many elections in which the second one waits.
pub(crate) struct Busy {
    pub(crate) leading: Elections,
    pub(crate) waiting: Elections,
    _candidates: Vec<Candidate>,
}

/// The bound on the election of all of them.
const BUSY_WITHIN: Duration = Duration::from_secs(60);

impl Busy {
    pub(crate) async fn start(place: &Place, count: u32) -> Outcome<Self> {
        let [leading, waiting] = [place.elections(), place.elections()];
        let join = |elections: &Elections| -> Outcome<Vec<Candidate>> {
            let join = |number| elections.candidate(format!("beside:{number}")).start();
            Ok((0..count).map(join).collect::<Result<_, _>>()?)
        };
        let mut candidates = join(&leading)?;
        let elected = async {
            for candidate in &candidates {
                candidate.elected().await?;
            }
            Outcome::Ok(())
        };
        tokio::time::timeout(BUSY_WITHIN, elected)
            .await
            .map_err(|_| format!("{count} elections had no leaders after {BUSY_WITHIN:?}"))??;
        candidates.extend(join(&waiting)?);
        // Until each has asked once.
        tokio::time::sleep(BUSY_WITHIN / 10).await;
        Ok(Self { leading, waiting, _candidates: candidates })
    }
}

impl Place {
    fn new(name: &'static str, connect: impl Fn() -> AnyStore + 'static) -> Outcome<Self> {
        let crash = Config::builder(Duration::from_secs(3)).build()?;
        let configs = [Config::default(), crash];
        Ok(Self { name, configs, connect: Box::new(connect), busy: None })
    }

    /// A driver of its own.
    pub(crate) fn elections(&self) -> Elections {
        Elections::new((self.connect)())
    }
}

/// Each store that was built in, with a server of its own where it needs one.
pub(crate) fn places() -> Outcome<Vec<Place>> {
    let memory = Memory::new();
    let mut places = vec![Place::new("memory", move || AnyStore::new(memory.clone()))?];
    {
        use std::sync::Arc;
        use tenure::store::redis::RedisConfig;
        let server = Arc::new(tenure_servers::RedisServer::start()?);
        let config = RedisConfig::from_url(&server.url())?.trust_empty_store(true);
        places.push(Place::new("redis", {
            let (server, config) = (Arc::clone(&server), config.clone());
            move || {
                let _runs_on = &server;
                AnyStore::new(tenure::store::redis::Redis::new(config.clone()))
            }
        })?);
        let config = config.prefix("fred")?;
        places.push(Place::new("fred", move || {
            let _runs_on = &server;
            AnyStore::new(tenure::store::redis::Fred::new(config.clone()))
        })?);
    }
    {
        use tenure::store::postgres::{Postgres, PostgresConfig};
        let server = tenure_servers::PostgresServer::start()?;
        places.push(Place::new("postgres", move || {
            let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
            AnyStore::new(Postgres::new(config.trust_empty_store(true)))
        })?);
    }
    {
        use tenure::store::mysql::{Mysql, MysqlConfig};
        let server = tenure_servers::MariadbServer::start()?;
        places.push(Place::new("mariadb", move || {
            let config = MysqlConfig::new("127.0.0.1", server.port(), "root", "app");
            AnyStore::new(Mysql::new(config.trust_empty_store(true)))
        })?);
    }
    #[cfg(feature = "etcd")]
    {
        use tenure::store::etcd::{Etcd, EtcdConfig};
        let server = tenure_servers::EtcdServer::start()?;
        let place = Place::new("etcd", move || {
            let config = EtcdConfig::new("127.0.0.1", server.port());
            AnyStore::new(Etcd::new(config.trust_empty_store(true)))
        })?;
        // Of shorter leases, its clock would leave too little.
        let crash = Config::fast_failover();
        places.push(Place { configs: [Config::default(), crash], ..place });
    }
    #[cfg(feature = "kubernetes")]
    {
        use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
        let server = tenure_servers::KubeApiServer::start()?;
        let kubeconfig = server.kubeconfig(server.admin_token())?;
        let config = KubernetesConfig::new("default")?.kubeconfig(kubeconfig);
        places.push(Place::new("kubernetes", move || {
            let _runs_on = &server;
            AnyStore::new(Kubernetes::new(config.clone().trust_empty_store(true)))
        })?);
    }
    {
        use tenure::store::sqlite::{Sqlite, SqliteConfig};
        let folder = tempfile::tempdir()?;
        places.push(Place::new("sqlite", move || {
            let config = SqliteConfig::new(folder.path().join("elections.db"));
            AnyStore::new(Sqlite::new(config.trust_empty_store(true)))
        })?);
    }
    Ok(places)
}
