//! Every kind of finding, declared once: its name, how bad it is, what follows from it, and what to
//! change.

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// For people: nothing has to be changed.
    Note,
    /// Elections work, and something costs leads, time or a promise.
    Problem,
    /// No candidate can lead, or two can.
    Unusable,
}

impl Level {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Problem => "problem",
            Self::Unusable => "unusable",
        }
    }
}

/// The declaration of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) level: Level,
    pub(super) follows: &'static str,
    pub(super) change: &'static str,
}

macro_rules! kinds {
    ($($kind:ident $id:literal $level:ident: $follows:literal; $change:literal)*) => {
        /// A kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(
            not(all(feature = "redis", feature = "postgres", feature = "sqlite", feature = "kubernetes", feature = "mysql")),
            allow(dead_code, reason = "each store has some of them")
        )]
        pub(super) enum Kind {
            $($kind,)*
        }

        impl Kind {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$kind),*];

            pub(super) const fn row(self) -> Row {
                match self {
                    $(Self::$kind => Row {
                        id: $id, level: Level::$level, follows: $follows, change: $change,
                    },)*
                }
            }
        }
    };
}

kinds! {
    UnknownVariable "unknown-variable" Problem:
        "The variable is not read: candidates use the default of the setting that was meant.";
        "Correct its name, or unset it."
    SettingRefused "setting-refused" Unusable:
        "`tenure run`, and programs that read their settings from variables, end at once.";
        "Set the variable as the text says."
    VariableUnused "variable-unused" Problem:
        "The variable is not read, because `TENURE_STORE` has a URL.";
        "Put it into the URL, or set `TENURE_STORE` to `redis`."
    StoreByOption "store-by-option" Note:
        "Candidates without the same option use the store of the variable, and know nothing of the others.";
        "Nothing, if all candidates have the option."
    OwnFile "own-file" Note:
        "No store is named, so the elections are in a file of this user on this host. Other hosts lead too.";
        "For several hosts: `--store`, or `TENURE_STORE`. For one: `TENURE_STORE=own` says that the file is meant."
    StoreNotNamed "store-not-named" Problem:
        "A server is at hand, and the elections are in a file of this user on this host. Other hosts and users lead too.";
        "Set `TENURE_STORE` to the server's URL, or to `own` if the file is meant."
    InMemory "in-memory" Problem:
        "Each process has a store of its own: all of them lead.";
        "Name a store that the processes share. `memory:` is for tests."
    CommandEnds "command-ends" Note:
        "What `tenure run` has started is killed before another host leads, as far as the text says.";
        "Nothing. A control group (root, or a service with `Delegate=yes`) also ends programs that run as another user."

    Unreachable "unreachable" Unusable:
        "No candidate leads, and a leader stops when its claim ends.";
        "Correct host and port, start the server, or open the way to it."
    NoAnswer "no-answer" Unusable:
        "A request ends without a result: no candidate leads.";
        "Look at the server's load and at what is between: a firewall that drops packets, a proxy, a paused server."
    ConnectionBroken "connection-broken" Unusable:
        "Requests end without a result: no candidate leads.";
        "Look at the server's log, and at a proxy or a firewall in between."
    TlsRefused "tls-refused" Unusable:
        "No connection is made: no candidate leads.";
        "Correct the scheme or `sslmode` and the files of certificates: the authority that has signed the server's certificate, and the host's name in it."
    CredentialsRefused "credentials-refused" Unusable:
        "No connection is made: no candidate leads.";
        "Correct user and password (or the token), or the server's rules for this client."
    CredentialsMissing "credentials-missing" Unusable:
        "No connection is made: no candidate leads.";
        "Let this user read the file with the credentials, and correct its path."
    RightMissing "right-missing" Unusable:
        "Candidates that need the right can't take part.";
        "Give the right that the text names: `SECURITY.md` has all that a candidate needs, and `tenure migrate --grant USER` prints those at PostgreSQL and MariaDB."
    NotPrimary "not-primary" Unusable:
        "The server accepts no writes, so no lease is granted or renewed.";
        "Name the primary, or (Redis) let sentinels or the nodes of a cluster name it: `redis+sentinel://`, `redis+cluster://`."
    VersionUnsupported "version-unsupported" Unusable:
        "The store is not used: no candidate leads.";
        "Use the version that the text names, on the server and in all candidates."
    ElectionsMissing "elections-missing" Unusable:
        "The database, table or namespace does not exist: no candidate leads.";
        "Correct the name, or create it."
    RecordDamaged "record-damaged" Unusable:
        "Requests that need the record are refused.";
        "Stop all candidates, and delete what the text names."
    ReplyUnexpected "reply-unexpected" Unusable:
        "The reply is not used: the request has no result.";
        "Look at what answers at that address: another program, or a proxy."
    StorageFull "storage-full" Unusable:
        "No new lease is granted; where renewals write too, leaders stop.";
        "Make room, or raise the limit (Redis: `maxmemory`)."
    ReplicasMissing "replicas-missing" Unusable:
        "Grants and renewals do not count: no candidate leads.";
        "Start the replicas, or lower the number that must acknowledge (`replica_acks`, `min-replicas-to-write`, `synchronous_standby_names`)."
    DiskWritesFail "disk-writes-fail" Unusable:
        "The server refuses all writes: no candidate leads.";
        "Repair the server's disk or its folder. With `appendonly yes`, `stop-writes-on-bgsave-error no` avoids the refusal."
    NotDurable "not-durable" Unusable:
        "What the server acknowledges may be lost, so it does not count: no candidate leads.";
        "Change the server's setting that the text names."
    IdentityWithheld "identity-withheld" Unusable:
        "A loss of data could not be noticed, so nothing is granted.";
        "Use a server that reports the field, without a proxy that hides it."
    ClusterWithoutLeader "cluster-without-leader" Unusable:
        "No majority confirms a grant: no candidate leads.";
        "Start the other members, or list all of them in the URL."
    PoolerBetween "pooler-between" Unusable:
        "Requests and wake-ups need sessions of their own: the store refuses the connection.";
        "Name the server itself, and its own port, in the place of the pooler or proxy."
    Locked "locked" Unusable:
        "Requests fail for as long as the lock lasts: leaders stop.";
        "End the program or the session that holds the lock. The text names it, where that is known."
    RequestRefused "request-refused" Unusable:
        "Candidates need that request.";
        "Correct what the server's words name."
    Unsupported "unsupported" Unusable:
        "Candidates need what the store does not support.";
        "Correct what the text names."
    NotGranted "not-granted" Unusable:
        "An election that no candidate is in had no leader: others have none either.";
        "Look at the store's log and load, and run the command again."
    PastChanges "past-changes" Unusable:
        "The store looks like another one again and again, so nothing is granted.";
        "Let one server answer at that address, and let all candidates of a file see one boot id."
    Quarantine "quarantine" Note:
        "The store is new to the prefix, was restarted, or lost data: candidates watch it for a quarantine before the next grant.";
        "Nothing: the wait ends by itself."
    WakeUpsMissing "wake-ups-missing" Problem:
        "Waiting candidates learn of a release only when they next look: a handover takes up to the poll bound.";
        "Allow subscriptions (Redis: channels and `+subscribe`; Kubernetes: `watch`), and a second connection (PostgreSQL)."
    MessagesLost "messages-lost" Problem:
        "Messages to the leader (`Candidate::notify_leader`) do not arrive.";
        "Allow what the text names."
    RoundTrips "round-trips" Note:
        "Each request must be answered within the request timeout.";
        "Nothing."
    RoundTripsSlow "round-trips-slow" Problem:
        "Requests are given up before they are answered, so leads are lost and not won.";
        "Raise `TENURE_TTL` (the request timeout is a tenth of it) or `TENURE_REQUEST_TIMEOUT`, or bring the store nearer."
    Clocks "clocks" Note:
        "No lease ends by the store's clock.";
        "Nothing."
    ClocksApart "clocks-apart" Problem:
        "After a loss of data, new tokens follow the store's clock: behind the last grant, they repeat, and a fence accepts old writes. Looks come at the wrong time.";
        "Have both clocks set by NTP, the one of the store first."
    NotAsked "not-asked" Note:
        "The server does not let this user ask, so these checks were not made.";
        "Nothing, or run the command as an administrator: candidates need no such right."
    ServerVersion "server-version" Note:
        "The version is supported.";
        "Nothing."

    Evicting "evicting" Unusable:
        "The server may remove the record of a lease, so nothing is granted.";
        "`CONFIG SET maxmemory-policy noeviction`, or one of `volatile-*`, and the same in redis.conf."
    MemoryNearlyFull "memory-nearly-full" Problem:
        "When the memory is used up, no new lease is granted.";
        "Raise `maxmemory`, or remove keys."
    NotPersistent "not-persistent" Problem:
        "A restart of the server loses all leases and tokens, and each costs a quarantine. Tokens then rest on its clock alone.";
        "`appendonly yes` in redis.conf."
    SnapshotsOnly "snapshots-only" Note:
        "A crash of the server loses what was granted since the last snapshot: it costs a quarantine.";
        "`appendonly yes` keeps it."
    SnapshotsFail "snapshots-fail" Problem:
        "The next restart loses what was granted since the last good snapshot, or the server refuses writes.";
        "Repair the server's disk or its folder (`CONFIG GET dir`), and run `BGSAVE`."
    LogFails "log-fails" Problem:
        "The append-only file can't be written: the server refuses writes, or loses them in a restart.";
        "Repair the server's disk."
    LogNotFlushed "log-not-flushed" Problem:
        "A crash of the machine may lose half a minute of grants.";
        "`appendfsync everysec` or `always`."
    MinReplicasUnset "min-replicas-unset" Problem:
        "A primary that was cut off keeps its leader, while another server is promoted by hand or by a changed name.";
        "`min-replicas-to-write 1` and `min-replicas-max-lag 2` (from Redis 7 on), or let sentinels or a cluster name the primary, or `replica_acks` in the URL."
    ReplicaLags "replica-lags" Problem:
        "A failover to that replica loses grants.";
        "Look at the replica, and at the network to it."
    ReplicaAcksFew "replica-acks-few" Problem:
        "A failover to a replica that has not acknowledged a grant loses it.";
        "Set `replica_acks` to the number of replicas that may be promoted."
    ReplicaWaitLong "replica-wait-long" Problem:
        "A request that waits for replicas is given up, and costs the connection.";
        "Set `replica_wait_ms` below the request timeout."
    ConnectionsNearlyUsed "connections-nearly-used" Problem:
        "When all connections are used, candidates that start or reconnect are refused.";
        "Raise `maxclients` or `max_connections`, or find the program that leaves connections open."
    ConnectionsUsedUp "connections-used-up" Unusable:
        "Candidates that start or reconnect are refused.";
        "Raise the role's `CONNECTION LIMIT`, that of the database, `max_connections` or `maxclients`: PostgreSQL needs two connections for each process."
    IdleConnectionsEnd "idle-connections-end" Problem:
        "The server closes the connections of candidates that wait, so each wait begins with a new connection and misses wake-ups.";
        "Turn the limit off for this user: `timeout 0`, `idle_session_timeout = 0`."
    SeveralServers "several-servers" Unusable:
        "Candidates ask different servers, so two may lead.";
        "Name one server, or sentinels or the nodes of a cluster, in the place of a balancer or a name with several addresses."
    ClusterByOneNode "cluster-by-one-node" Unusable:
        "The node refuses keys of other nodes.";
        "Begin the URL with `redis+cluster://`, and list all nodes."
    FewMembers "few-members" Problem:
        "When one of them fails, no candidate leads.";
        "List all sentinels or nodes, and at least three."
    PasswordReadable "password-readable" Problem:
        "Other machines on the way can read the password or take the connection over.";
        "Encrypt: `rediss://`, or `sslmode=verify-full`."
    ReadOnlyDefault "read-only-default" Unusable:
        "The server refuses to write leases.";
        "`ALTER ROLE .. SET default_transaction_read_only = off`, for a user of the candidates' own."
    FullPageWritesOff "full-page-writes-off" Problem:
        "A crash of the machine may damage the table, and with it leases and tokens.";
        "`full_page_writes = on`."
    ReplicationAsynchronous "replication-asynchronous" Problem:
        "A promotion of such a standby loses grants; while the old primary is cut off together with its leader, two may lead. Only fencing protects you then.";
        "List every standby that may be promoted in `synchronous_standby_names`."
    TableUnlogged "table-unlogged" Problem:
        "A crash of the server empties the table: tokens then rest on its clock alone.";
        "`ALTER TABLE .. SET LOGGED`."
    AutovacuumOff "autovacuum-off" Problem:
        "Each renewal leaves an old version of a row: requests become slower until they are given up.";
        "`autovacuum = on`, and `ALTER TABLE .. RESET (autovacuum_enabled)`."
    TransactionOpen "transaction-open" Problem:
        "While it is open, old versions of rows are kept: requests become slower until they are given up.";
        "End the session that the text names, or set `idle_in_transaction_session_timeout` for its role."

    FolderMissing "folder-missing" Unusable:
        "The file can't be created: no candidate leads.";
        "Create the folder, for the candidates' user alone (mode 0700)."
    NotAFile "not-a-file" Unusable:
        "SQLite can't use it: no candidate leads.";
        "Name a file, in a folder that exists."
    NetworkFileSystem "network-file-system" Unusable:
        "Locks do not work there, so the store refuses the file.";
        "Name a file on a local disk of this host; for several hosts, use a server."
    MountedAlone "mounted-alone" Unusable:
        "The two files beside it would differ for each container, so the store refuses it.";
        "Mount the folder in the place of the file."
    HardLinks "hard-links" Unusable:
        "SQLite would keep a log for each name, so the store refuses the file.";
        "Remove all names but one."
    NotElections "not-elections" Unusable:
        "The store refuses the file, and does not change it.";
        "Name a file of its own for elections."
    FileReplaced "file-replaced" Unusable:
        "Requests in flight fail, and the next grant waits for a quarantine.";
        "Leave the file, and the two beside it, in place while candidates run."
    FileFails "file-fails" Unusable:
        "Requests fail: no candidate leads.";
        "Correct what the system's words name."
    FileWritable "file-open-to-others" Problem:
        "Users who can read a file can stop all its elections, and users who can write it can lead.";
        "`chmod 0600` (0660 with `share_with_group`) for all three files."
    FolderWritable "folder-open-to-others" Problem:
        "Users who can write the folder can replace the file, and so cause a second leader.";
        "Keep the file in a folder that only candidates can write (mode 0700)."
    DiskNearlyFull "disk-nearly-full" Problem:
        "When the disk is full, requests fail and leaders stop.";
        "Make room on that file system."
    LogLarge "log-large" Problem:
        "A program keeps a read open, so SQLite can't empty its log: it grows until the disk is full.";
        "End the program that has the file open."
    JournalMode "journal-mode" Problem:
        "Another program has changed the journal mode, and may do so again: each change costs a quarantine.";
        "Let no other program change the file. The store has set the mode to WAL again."
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/doctor.md");

    #[test]
    fn the_page_has_every_kind() {
        let rows = Kind::ALL.iter().map(|kind| {
            let Row { id, level, change, .. } = kind.row();
            format!("| `{id}` | {} | {change} |\n", level.name())
        });
        let table: String = rows.collect();
        let head = "| finding | level | what to change |\n|---|---|---|\n";
        let table = format!("{head}{table}");
        assert!(PAGE.contains(&table), "docs/doctor.md has to say:\n\n{table}");
    }

    #[test]
    fn names_are_kebab_case_and_unique() {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.row().id).collect();
        let is_kebab = |name: &&str| {
            name.split('-').all(|word| {
                !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_lowercase())
            })
        };
        assert!(names.iter().all(is_kebab), "{names:?}");
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
