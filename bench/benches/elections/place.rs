//! The servers, what is done to them, and where their renewals are counted.

use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tenure::Config;
use tenure::store::AnyStore;
#[cfg(feature = "etcd")]
use tenure::store::etcd::{Etcd, EtcdConfig};
#[cfg(feature = "kubernetes")]
use tenure::store::kubernetes::{Kubernetes, KubernetesConfig};
use tenure::store::mysql::{Mysql, MysqlConfig};
use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::sqlite::{Sqlite, SqliteConfig};
use tenure_bench::Outcome;
#[cfg(feature = "etcd")]
use tenure_servers::EtcdServer;
#[cfg(feature = "kubernetes")]
use tenure_servers::KubeApiServer;
use tenure_servers::{MariadbServer, PostgresServer, RedisServer, Reply};

use crate::counter;
use crate::meter::Read;

/// A store that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Redis,
    Postgres,
    Mariadb,
    Sqlite,
    #[cfg(feature = "etcd")]
    Etcd,
    #[cfg(feature = "kubernetes")]
    Kubernetes,
}

impl Kind {
    /// Its name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Sqlite => "sqlite",
            #[cfg(feature = "etcd")]
            Self::Etcd => "etcd",
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Up to how many elections all must lead; more may be too many for a machine.
    pub(crate) fn must_lead(self) -> usize {
        match self {
            Self::Redis => 10_000,
            Self::Postgres | Self::Mariadb | Self::Sqlite => 100,
            #[cfg(feature = "etcd")]
            Self::Etcd => 100,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes => 1_000,
        }
    }

    /// Short leases, for a test.
    pub(crate) fn quick_config(self) -> Outcome<Config> {
        Ok(match self {
            Self::Redis | Self::Postgres | Self::Mariadb | Self::Sqlite => {
                Config::builder(Duration::from_secs(1)).build()?
            }
            // It counts leases in whole seconds.
            #[cfg(feature = "etcd")]
            Self::Etcd => Config::fast_failover(),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes => Config::fast_failover(),
        })
    }

    /// True if its leases are short enough for faults in a test.
    pub(crate) fn has_quick_faults(self) -> bool {
        match self {
            Self::Redis | Self::Postgres | Self::Mariadb | Self::Sqlite => true,
            #[cfg(feature = "etcd")]
            Self::Etcd => false,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes => false,
        }
    }
}

/// A fault of a server under its elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fault {
    /// Its processes are stopped for a while and continue (SIGSTOP, SIGCONT).
    Paused,
    /// It closes the connections of all clients.
    Cut,
    /// It is killed, stays away for a while and starts again with its data.
    Restarted,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Cut => "connections cut",
            Self::Restarted => "restarted with its data",
        }
    }
}

/// A server of this benchmark's own. It is stopped on drop.
pub(crate) enum Place {
    Redis(RedisServer),
    Postgres(PostgresServer),
    Mariadb(MariadbServer),
    Sqlite(TempDir),
    #[cfg(feature = "etcd")]
    Etcd(EtcdServer),
    #[cfg(feature = "kubernetes")]
    Kubernetes(Box<KubeApiServer>, KubernetesConfig),
}

impl Place {
    pub(crate) fn start(kind: Kind) -> Outcome<Self> {
        Ok(match kind {
            Kind::Redis => Self::Redis(RedisServer::start()?),
            Kind::Postgres => Self::Postgres(PostgresServer::start()?),
            Kind::Mariadb => Self::Mariadb(MariadbServer::start()?),
            Kind::Sqlite => Self::Sqlite(tempfile::tempdir()?),
            #[cfg(feature = "etcd")]
            Kind::Etcd => Self::Etcd(EtcdServer::start()?),
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes => {
                let server = Box::new(KubeApiServer::start()?);
                let kubeconfig = server.kubeconfig(server.admin_token())?;
                let config = KubernetesConfig::new("default")?.kubeconfig(kubeconfig);
                Self::Kubernetes(server, config.trust_empty_store(true))
            }
        })
    }

    /// A store at that server. It trusts the empty server, so that no quarantine delays the first
    /// leaders.
    pub(crate) fn store(&self) -> AnyStore {
        match self {
            Self::Redis(server) => Self::redis_store(server.port()),
            Self::Postgres(server) => {
                let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
                AnyStore::new(Postgres::new(config.trust_empty_store(true)))
            }
            Self::Mariadb(server) => {
                let config = MysqlConfig::new("127.0.0.1", server.port(), "root", "app");
                AnyStore::new(Mysql::new(config.trust_empty_store(true)))
            }
            Self::Sqlite(folder) => {
                let config = SqliteConfig::new(folder.path().join("elections.db"));
                AnyStore::new(Sqlite::new(config.trust_empty_store(true)))
            }
            #[cfg(feature = "etcd")]
            Self::Etcd(server) => {
                let config = EtcdConfig::new("127.0.0.1", server.port());
                AnyStore::new(Etcd::new(config.trust_empty_store(true)))
            }
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_, config) => AnyStore::new(Kubernetes::new(config.clone())),
        }
    }

    /// The same at the Redis server of that port.
    pub(crate) fn redis_store(port: u16) -> AnyStore {
        AnyStore::new(Redis::new(RedisConfig::new("127.0.0.1", port).trust_empty_store(true)))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Redis(_) => "Redis",
            Self::Postgres(_) => "PostgreSQL",
            Self::Mariadb(_) => "MariaDB",
            Self::Sqlite(_) => "SQLite",
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => "etcd",
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(..) => "Kubernetes",
        }
    }

    /// Counts the renewals: at the server if it is Redis, otherwise as the driver counts what was
    /// answered.
    pub(crate) fn counter(&self) -> Outcome<Read> {
        Ok(match self {
            Self::Redis(server) => counter::at_redis(server.port())?,
            Self::Postgres(_) | Self::Mariadb(_) | Self::Sqlite(_) => counter::of_driver()?,
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => counter::of_driver()?,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(..) => counter::of_driver()?,
        })
    }

    /// The server's first process; SQLite has none.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Redis(server) => server.pid(),
            Self::Postgres(server) => server.pid(),
            Self::Mariadb(server) => server.pid(),
            Self::Sqlite(_) => None,
            #[cfg(feature = "etcd")]
            Self::Etcd(server) => server.pid(),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(server, _) => server.pid(),
        }
    }

    pub(crate) fn faults(&self) -> &'static [Fault] {
        match self {
            Self::Redis(_) | Self::Postgres(_) | Self::Mariadb(_) => {
                &[Fault::Paused, Fault::Cut, Fault::Restarted]
            }
            Self::Sqlite(_) => &[],
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => &[Fault::Paused, Fault::Restarted],
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(..) => &[Fault::Paused, Fault::Restarted],
        }
    }

    /// Lets the fault happen, and returns when it is over. `outage` is the length of a pause; a
    /// server that is restarted stays away for a third of it.
    pub(crate) fn strike(&mut self, fault: Fault, outage: Duration) -> Outcome<()> {
        match (fault, self) {
            (Fault::Paused, place) => {
                place.pause()?;
                thread::sleep(outage);
                place.resume()
            }
            (Fault::Cut, Self::Redis(server)) => {
                // One with subscriptions is of another type.
                let normal = number(&server.command(&["CLIENT", "KILL", "TYPE", "normal"])?)?;
                let subscribed = number(&server.command(&["CLIENT", "KILL", "TYPE", "pubsub"])?)?;
                // The meter's, and the driver's.
                if normal + subscribed < 2 {
                    return Err("the driver's connection was not cut".into());
                }
                Ok(())
            }
            (Fault::Cut, Self::Postgres(server)) => {
                let cut = server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
                )?;
                if cut.is_empty() {
                    return Err("the driver's connection was not cut".into());
                }
                Ok(())
            }
            (Fault::Cut, Self::Mariadb(server)) => {
                let cut = server.sql(
                    "SELECT id FROM information_schema.PROCESSLIST WHERE command <> 'Daemon' AND id <> CONNECTION_ID()",
                )?;
                if cut.is_empty() {
                    return Err("the driver's connection was not cut".into());
                }
                for session in cut.lines() {
                    server.sql(&format!("KILL {session}"))?;
                }
                Ok(())
            }
            (Fault::Restarted, Self::Redis(server)) => {
                if let Reply::Error(error) = server.command(&["SAVE"])? {
                    return Err(error.into());
                }
                server.kill()?;
                thread::sleep(outage / 3);
                Ok(server.restart()?)
            }
            (Fault::Restarted, Self::Postgres(server)) => {
                server.stop()?;
                thread::sleep(outage / 3);
                Ok(server.restart()?)
            }
            (Fault::Restarted, Self::Mariadb(server)) => {
                server.kill()?;
                thread::sleep(outage / 3);
                Ok(server.restart()?)
            }
            #[cfg(feature = "etcd")]
            (Fault::Restarted, Self::Etcd(server)) => {
                server.kill()?;
                thread::sleep(outage / 3);
                Ok(server.restart()?)
            }
            #[cfg(feature = "kubernetes")]
            (Fault::Restarted, Self::Kubernetes(server, _)) => {
                server.kill()?;
                thread::sleep(outage / 3);
                Ok(server.restart()?)
            }
            #[cfg(feature = "etcd")]
            (Fault::Cut, Self::Etcd(_)) => Err("etcd has no command that cuts connections".into()),
            #[cfg(feature = "kubernetes")]
            (Fault::Cut, Self::Kubernetes(..)) => {
                Err("an API server has no command that cuts connections".into())
            }
            (Fault::Cut | Fault::Restarted, Self::Sqlite(_)) => Err("SQLite has no server".into()),
        }
    }

    fn pause(&self) -> Outcome<()> {
        match self {
            Self::Redis(server) => Ok(server.pause()?),
            Self::Postgres(server) => Ok(server.pause()?),
            Self::Mariadb(server) => Ok(server.pause()?),
            Self::Sqlite(_) => Err("SQLite has no server".into()),
            #[cfg(feature = "etcd")]
            Self::Etcd(server) => Ok(server.pause()?),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(server, _) => Ok(server.pause()?),
        }
    }

    fn resume(&self) -> Outcome<()> {
        match self {
            Self::Redis(server) => Ok(server.resume()?),
            Self::Postgres(server) => Ok(server.resume()?),
            Self::Mariadb(server) => Ok(server.resume()?),
            Self::Sqlite(_) => Err("SQLite has no server".into()),
            #[cfg(feature = "etcd")]
            Self::Etcd(server) => Ok(server.resume()?),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(server, _) => Ok(server.resume()?),
        }
    }
}

/// The number that Redis answered.
fn number(reply: &Reply) -> Outcome<i64> {
    match reply {
        Reply::Integer(number) => Ok(*number),
        other => Err(format!("Redis answered {other:?}").into()),
    }
}
