-- The lease table of tenure, version 1: for psql and migration tools. May be run again.
--
-- With other names than the schema tenure and the table leases: LeaseTable::schema_sql. What a user that
-- takes part in elections needs: LeaseTable::grants_sql.
--
-- Each function is one atomic step of the store contract. All times are microseconds since 1970 of the
-- server's clock. A step that writes takes the election's row lock first and reads the clock after it:
-- a reading from before may be older than what the row holds by then. It runs under READ COMMITTED,
-- where each statement in a function sees what was committed before that statement.
--
-- Renewals and grants that nothing speaks against are done by plain statements: grant.sql and renew.sql.
-- They go by the clock as it was when they began, and undo what had to wait. What they leave undone is
-- asked of the functions.
--
-- How long a statement may wait for a lock is for the session to say (lock_timeout): requests for all
-- elections come one after the other on one connection, and what waits delays the others.
--
-- Whoever locks the row of an election and that of the history locks them in this order.

-- IF NOT EXISTS would ask for the right to create it also where it exists.
DO $body$
BEGIN
    IF to_regnamespace('tenure') IS NULL THEN
        CREATE SCHEMA tenure;
    END IF;
END
$body$;

-- Keys and names are bytes, so that no collation and no encoding of the database has a say. Room in the
-- pages keeps renewals away from the index.
CREATE TABLE IF NOT EXISTS tenure.leases (
    key       bytea   NOT NULL PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 512),
    token     bigint  NOT NULL CHECK (token >= 0),
    holder    bytea   NOT NULL CHECK (octet_length(holder) = 16),
    since     bigint  NOT NULL,
    lease_end bigint  NOT NULL,
    ttl       bigint  NOT NULL CHECK (ttl >= 0),
    -- What the last tenure's candidate declared.
    quarantine bigint NOT NULL CHECK (quarantine >= 0),
    released  boolean NOT NULL,
    name      bytea   NOT NULL,
    metadata  bytea   NOT NULL
) WITH (fillfactor = 50);

-- One row: since when the server of that identity knows, without a gap, which leases it granted; the longest
-- TTL that was granted in this table; and the greatest token among the rows that leases_purge has deleted. The
-- identity is the server's and the table's.
CREATE TABLE IF NOT EXISTS tenure.leases_history (
    only_row    boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row),
    identity    text,
    known_since bigint  NOT NULL DEFAULT 0,
    longest_ttl bigint  NOT NULL DEFAULT 0,
    purged      bigint  NOT NULL DEFAULT 0
);

-- Messages to leaders, for as long as it takes to fetch them. A crash loses them.
CREATE UNLOGGED TABLE IF NOT EXISTS tenure.leases_messages (
    number  bytea  NOT NULL PRIMARY KEY,
    key     bytea  NOT NULL,
    token   bigint NOT NULL,
    sent    bigint NOT NULL,
    message bytea  NOT NULL
);

CREATE OR REPLACE FUNCTION tenure.leases_version() RETURNS integer
LANGUAGE sql IMMUTABLE AS $body$ SELECT 1 $body$;

CREATE OR REPLACE FUNCTION tenure.leases_micros(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $body$ SELECT (date_part('epoch', at) * 1e6)::bigint $body$;

-- What this server is known by, the same for as long as a session lasts: a primary's timeline changes with
-- its start only. The timeline comes from the log itself: the control file lags behind a promotion. The
-- start time is a number, since a date looks different in each session.
CREATE OR REPLACE FUNCTION tenure.leases_identity() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat(c.system_identifier, '/', left(pg_walfile_name(pg_current_wal_lsn()), 8), '/',
            tenure.leases_micros(pg_postmaster_start_time()))
        FROM pg_control_system() AS c
$body$;

-- What the table is known by: one that was dropped and made again has another number, and one that was
-- emptied by TRUNCATE or written anew has another file. A request reads it under its own lock on the table,
-- which keeps both from happening before the request is committed.
CREATE OR REPLACE FUNCTION tenure.leases_place() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat('tenure.leases'::regclass::oid, '/', pg_relation_filenode('tenure.leases'::regclass))
$body$;

-- Which process of which start of a server carries this statement out. A pooler may have put another in
-- the place of the one that told its identity, on another server too.
CREATE OR REPLACE FUNCTION tenure.leases_backend() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat(pg_backend_pid(), '/', tenure.leases_micros(pg_postmaster_start_time()))
$body$;

-- Undoes a plain statement that read the clock too long before it had the row's lock.
CREATE OR REPLACE FUNCTION tenure.leases_late() RETURNS text
LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'waited for the row' USING ERRCODE = 'TN003';
END
$body$;

-- Says that there is a row which the user is not shown.
CREATE OR REPLACE FUNCTION tenure.leases_hidden() RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'row security hides a row from this user' USING ERRCODE = 'TN004';
END
$body$;

-- The identity under which this server grants leases in this table. The caller tells the server's part, since it
-- takes long to find out, and the process that told it, which must be this one.
CREATE OR REPLACE FUNCTION tenure.leases_here(server text, backend text) RETURNS text
LANGUAGE plpgsql AS $body$
BEGIN
    IF backend IS DISTINCT FROM tenure.leases_backend() THEN
        RAISE EXCEPTION 'the process is not the one whose identity the connection knows'
            USING ERRCODE = 'TN002';
    END IF;
    RETURN concat(server, '/', tenure.leases_place());
END
$body$;

-- Whether candidates with these settings and those with the row's would not wait for each other's leases after
-- a loss of data. It is asked for as long as a candidate with the row's settings may be about to ask.
CREATE OR REPLACE FUNCTION tenure.leases_contradicts(
    lease tenure.leases, now bigint, of_ttl bigint, of_quarantine bigint
) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $body$
    SELECT now < lease.lease_end + greatest(lease.ttl, lease.quarantine)
        AND (of_quarantine < lease.ttl OR lease.quarantine < of_ttl)
$body$;

CREATE OR REPLACE FUNCTION tenure.leases_acquire(
    of_key bytea, of_holder bytea, seen bigint, of_ttl bigint, server text, backend text,
    of_quarantine bigint, of_name bytea, of_metadata bytea, trust_empty_store boolean,
    OUT answer text, OUT last bigint, OUT micros bigint,
    OUT who bytea, OUT called bytea, OUT tells bytea, OUT lasts bigint, OUT declared bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now     bigint;
    lease   tenure.leases%ROWTYPE;
    history tenure.leases_history%ROWTYPE;
    live    boolean;
    mine    boolean;
    lost    boolean;
BEGIN
    -- Who leads is told without a lock, which would be a write: as when somebody looks, below. A refusal beside a
    -- live lease too: its settings were compared while it was live, or when it was written since.
    now := tenure.leases_micros(clock_timestamp());
    SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key;
    IF coalesce(lease.released OR now >= lease.lease_end OR lease.holder = of_holder, true) THEN
        -- A row that another inserts and a third one purges meanwhile is rare; so often it is hidden.
        FOR attempt IN 1..10 LOOP
            SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
            EXIT WHEN FOUND;
            -- Waits for whoever else has just inserted it. Not committed as it is: what is asked for the
            -- first time is granted below, or an exception is raised.
            INSERT INTO tenure.leases VALUES (of_key, 0, of_holder, 0, 0, 0, 0, true, '', '')
                ON CONFLICT DO NOTHING;
        END LOOP;
        IF lease.key IS NULL THEN
            PERFORM tenure.leases_hidden();
        END IF;
        now := tenure.leases_micros(clock_timestamp());
    END IF;
    live := NOT lease.released AND now < lease.lease_end;
    mine := live AND lease.holder = of_holder;

    IF NOT mine AND tenure.leases_contradicts(lease, now, of_ttl, of_quarantine) THEN
        answer := 'refused'; lasts := lease.ttl; declared := lease.quarantine;
        RETURN;
    END IF;
    IF live AND NOT mine THEN
        answer := 'held'; last := lease.token;
        -- Never more than that lease's own TTL, should the clock have stepped back.
        micros := least(lease.lease_end - now, lease.ttl);
        who := lease.holder; called := lease.name; tells := lease.metadata; lasts := lease.ttl;
        RETURN;
    END IF;
    IF NOT live AND seen < lease.token THEN
        -- A late duplicate of an old acquire ends here.
        answer := 'stale'; last := lease.token;
        RETURN;
    END IF;

    -- From here on the lease is granted.
    IF current_setting('fsync') = 'off' AND NOT trust_empty_store THEN
        RAISE EXCEPTION 'fsync is off' USING ERRCODE = 'TN001';
    END IF;
    server := tenure.leases_here(server, backend);
    SELECT * INTO history FROM tenure.leases_history;
    -- A token above the record's proves a lost grant, unless the record was purged.
    lost := seen > lease.token AND (lease.token > 0 OR seen > coalesce(history.purged, 0));
    IF lost OR history.identity IS DISTINCT FROM server
        OR history.known_since > now OR history.longest_ttl < of_ttl
    THEN
        INSERT INTO tenure.leases_history DEFAULT VALUES ON CONFLICT DO NOTHING;
        -- Another election's grant may have found the same meanwhile.
        SELECT * INTO history FROM tenure.leases_history FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM tenure.leases_hidden();
        END IF;
        -- Not before any that was written there. The lease is locked, and so still what it was.
        now := tenure.leases_micros(clock_timestamp());
        IF history.identity = server AND NOT lost THEN
            -- A renewal may have set it to a time to come, and no grant waits for more than a whole quarantine.
            history.known_since := least(history.known_since, now);
        ELSIF history.identity IS NULL AND trust_empty_store AND NOT lost THEN
            history.known_since := 0;
        ELSE
            history.known_since := now;
        END IF;
        history.longest_ttl := greatest(history.longest_ttl, of_ttl);
        UPDATE tenure.leases_history SET identity = server,
            known_since = history.known_since, longest_ttl = history.longest_ttl;
    END IF;

    IF live THEN
        UPDATE tenure.leases AS l
            SET lease_end = greatest(lease.lease_end, now + of_ttl), ttl = of_ttl,
                name = of_name, metadata = of_metadata
            WHERE l.key = of_key;
        last := lease.token;
    ELSE
        last := greatest(lease.token + 1, seen + 1, now);
        UPDATE tenure.leases AS l
            SET token = last, holder = of_holder, since = now, lease_end = now + of_ttl, ttl = of_ttl,
                quarantine = of_quarantine, released = false, name = of_name, metadata = of_metadata
            WHERE l.key = of_key;
    END IF;
    answer := 'granted';
    micros := greatest(0, history.known_since + greatest(of_quarantine, history.longest_ttl) - now);
END
$body$;

-- Extends the live lease of exactly this tenure; never moves its end back.
--
-- A caller that tells the server has its identity compared: at a server that the history does not name, such a
-- renewal begins the history. The server before this one may still acknowledge what its own leaders ask, until
-- they get to know of this one: the longest TTL is left for that. A grant in the meantime counts from itself.
CREATE OR REPLACE FUNCTION tenure.leases_renew(
    of_key bytea, of_holder bytea, of_token bigint, of_ttl bigint, server text, backend text,
    OUT answer text, OUT last bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now     bigint;
    lease   tenure.leases%ROWTYPE;
    history tenure.leases_history%ROWTYPE;
BEGIN
    SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
    now := tenure.leases_micros(clock_timestamp());
    IF lease.released OR now >= lease.lease_end
        OR lease.holder <> of_holder OR lease.token <> of_token OR lease.key IS NULL
    THEN
        answer := 'superseded'; last := coalesce(lease.token, 0);
        RETURN;
    END IF;
    UPDATE tenure.leases AS l
        SET lease_end = greatest(lease.lease_end, now + of_ttl), ttl = of_ttl
        WHERE l.key = of_key;
    answer := 'renewed'; last := of_token;

    IF server IS NULL THEN
        RETURN;
    END IF;
    server := tenure.leases_here(server, backend);
    IF NOT EXISTS (SELECT FROM tenure.leases_history AS h WHERE h.identity = server) THEN
        INSERT INTO tenure.leases_history DEFAULT VALUES ON CONFLICT DO NOTHING;
        SELECT * INTO history FROM tenure.leases_history FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM tenure.leases_hidden();
        END IF;
        IF history.identity IS DISTINCT FROM server THEN
            now := tenure.leases_micros(clock_timestamp());
            history.longest_ttl := greatest(history.longest_ttl, of_ttl);
            UPDATE tenure.leases_history SET identity = server,
                known_since = now + history.longest_ttl, longest_ttl = history.longest_ttl;
        END IF;
    END IF;
END
$body$;

-- Ends the live lease of exactly this tenure, and wakes those who wait.
CREATE OR REPLACE FUNCTION tenure.leases_release(
    of_key bytea, of_holder bytea, of_token bigint,
    OUT answer text
) LANGUAGE plpgsql AS $body$
DECLARE
    now   bigint;
    lease tenure.leases%ROWTYPE;
BEGIN
    SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
    now := tenure.leases_micros(clock_timestamp());
    IF NOT lease.released AND now < lease.lease_end
        AND lease.holder = of_holder AND lease.token = of_token
    THEN
        UPDATE tenure.leases AS l SET released = true WHERE l.key = of_key;
        -- A full queue fails the commit, and so the release; nothing in here could catch that. Those
        -- who wait then poll.
        IF pg_notification_queue_usage() < 0.5 THEN
            PERFORM pg_notify('tenure_leases', encode(of_key, 'hex'));
        END IF;
        answer := 'released';
    ELSE
        answer := 'not_held';
    END IF;
END
$body$;

-- Tells who holds the lease. Who reads the clock before the row needs no lock to find it live: it was so
-- then, or when it was written since. A lease that seems to have run out may be about to be renewed by
-- somebody who read the clock before it did, and has not committed yet; so that is looked at again under a
-- lock, which waits for it.
CREATE OR REPLACE FUNCTION tenure.leases_observe(
    of_key bytea,
    OUT answer text, OUT last bigint, OUT micros bigint,
    OUT who bytea, OUT called bytea, OUT tells bytea, OUT lasts bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now   bigint := tenure.leases_micros(clock_timestamp());
    lease tenure.leases%ROWTYPE;
BEGIN
    SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key;
    IF NOT lease.released AND now >= lease.lease_end THEN
        SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR SHARE;
        now := tenure.leases_micros(clock_timestamp());
    END IF;
    IF NOT lease.released AND now < lease.lease_end THEN
        answer := 'held'; last := lease.token;
        micros := least(lease.lease_end - now, lease.ttl);
        who := lease.holder; called := lease.name; tells := lease.metadata; lasts := lease.ttl;
    ELSE
        answer := 'vacant';
    END IF;
END
$body$;

-- Keeps a message to the tenure that holds the lease, if one does, and says that it is there. Any role that
-- can connect may listen to what is said so, and may say it too, so that is no more than the message's
-- number: the message is for those who may read the table. Whoever leads has a minute to fetch it. A full
-- queue fails the commit, and so this.
CREATE OR REPLACE FUNCTION tenure.leases_notify(
    of_key bytea, number bytea, message bytea,
    OUT answer text, OUT last bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now bigint := tenure.leases_micros(clock_timestamp());
BEGIN
    SELECT o.answer, o.last INTO answer, last FROM tenure.leases_observe(of_key) AS o;
    IF answer = 'held' THEN
        DELETE FROM tenure.leases_messages AS m USING (
            SELECT d.number FROM tenure.leases_messages AS d
                WHERE d.sent NOT BETWEEN now - 60000000 AND now + 60000000 FOR UPDATE SKIP LOCKED
        ) AS old WHERE m.number = old.number;
        INSERT INTO tenure.leases_messages VALUES (number, of_key, last, now, message);
        PERFORM pg_notify('tenure_leases_inbox', concat(encode(of_key, 'hex'), ' ', encode(number, 'hex')));
        answer := 'notified';
    END IF;
END
$body$;

-- Deletes the rows of elections whose last lease ended longer than a quarantine ago, and tells how many
-- they were: at most a thousand, so that requests behind it do not wait for long. Time-floored tokens make that harmless: whoever is granted the lease next gets a token
-- above the purged one. Those who still know that token are not taken for witnesses of a loss.
CREATE OR REPLACE FUNCTION tenure.leases_purge(of_quarantine bigint) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    now     bigint := tenure.leases_micros(clock_timestamp());
    deleted bigint;
    highest bigint;
BEGIN
    WITH ended AS (
        SELECT l.key FROM tenure.leases AS l
            WHERE l.lease_end + of_quarantine < now AND l.token < now
            LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM tenure.leases AS l USING ended WHERE l.key = ended.key RETURNING l.token
    )
    SELECT count(*), max(gone.token) INTO deleted, highest FROM gone;
    IF deleted > 0 THEN
        INSERT INTO tenure.leases_history DEFAULT VALUES ON CONFLICT DO NOTHING;
        UPDATE tenure.leases_history AS h SET purged = greatest(h.purged, highest);
    END IF;
    RETURN deleted;
END
$body$;

-- For people: who leads, since when, how long the lease lasts unless it is renewed.
CREATE OR REPLACE VIEW tenure.leases_leaders AS
SELECT CASE
           WHEN position(decode('00', 'hex') IN l.key) > 0 OR current_setting('server_encoding') <> 'UTF8'
           THEN encode(l.key, 'escape') ELSE convert_from(l.key, 'UTF8')
       END AS election,
       CASE
           WHEN position(decode('00', 'hex') IN l.name) > 0 OR current_setting('server_encoding') <> 'UTF8'
           THEN encode(l.name, 'escape') ELSE convert_from(l.name, 'UTF8')
       END AS leader,
       encode(l.metadata, 'escape') AS metadata,
       l.token,
       to_timestamp(l.since / 1e6) AS since,
       to_timestamp(l.lease_end / 1e6) - clock_timestamp() AS remaining
FROM tenure.leases AS l
WHERE NOT l.released AND to_timestamp(l.lease_end / 1e6) > clock_timestamp();
