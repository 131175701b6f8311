-- The lease table of tenure, version 1: for psql and migration tools. May be run again.
--
-- For other names than the schema tenure and the table leases: LeaseTable::schema_sql. For the rights of users
-- that take part in elections: LeaseTable::grants_sql.
--
-- Each function is one atomic step of the store contract. All times are microseconds since 1970 of the
-- server's clock. A step that writes takes the election's row lock first and then reads the clock:
-- an earlier reading may be older than the times in the row by then. It runs under READ COMMITTED,
-- where each statement in a function sees everything that was committed before that statement.
--
-- Simple renewals and grants are carried out by plain statements: grant.sql and renew.sql. They use the time at
-- which they began, and fail if they had to wait for the row. Requests that they do not carry out are left to the
-- functions.
--
-- The session sets how long a statement may wait for a lock (lock_timeout): requests for all elections
-- are carried out one after the other on one connection, and a statement that waits delays the others.
--
-- A function that locks the row of an election and that of the history locks them in this order.

-- IF NOT EXISTS would need the right to create it even where it exists.
DO $body$
BEGIN
    IF to_regnamespace('tenure') IS NULL THEN
        CREATE SCHEMA tenure;
    END IF;
END
$body$;

-- Keys and names are bytes, so that they do not depend on the collation or the encoding of the database. With
-- free space in the pages, renewals do not update the index.
CREATE TABLE IF NOT EXISTS tenure.leases (
    key       bytea   NOT NULL PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 512),
    token     bigint  NOT NULL CHECK (token >= 0),
    holder    bytea   NOT NULL CHECK (octet_length(holder) = 16),
    since     bigint  NOT NULL,
    lease_end bigint  NOT NULL,
    ttl       bigint  NOT NULL CHECK (ttl >= 0),
    -- Declared by the last tenure's candidate.
    quarantine bigint NOT NULL CHECK (quarantine >= 0),
    released  boolean NOT NULL,
    name      bytea   NOT NULL,
    metadata  bytea   NOT NULL
) WITH (fillfactor = 50);

-- The last tenure that has replaced its name and metadata, and the version of those. A table that was made before
-- there were versions gets them here.
DO $body$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute AS a
        WHERE a.attrelid = 'tenure.leases'::regclass AND a.attname = 'described_version')
    THEN
        -- Renewals queue behind this statement while it waits for others: run it again rather than wait for long.
        PERFORM set_config('lock_timeout', '500ms', true);
        ALTER TABLE tenure.leases
            ADD COLUMN described_token   bigint NOT NULL DEFAULT 0,
            ADD COLUMN described_version bigint NOT NULL DEFAULT 0;
    END IF;
END
$body$;

-- One row: since when the server of that identity knows, without a gap, which leases it granted; the longest
-- TTL that was granted in this table; and the greatest token among the rows that were purged. The identity is the
-- server's and the table's.
CREATE TABLE IF NOT EXISTS tenure.leases_history (
    only_row    boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row),
    identity    text,
    known_since bigint  NOT NULL DEFAULT 0,
    longest_ttl bigint  NOT NULL DEFAULT 0,
    purged      bigint  NOT NULL DEFAULT 0
);

-- Messages to leaders, until they are fetched. A crash loses them.
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

-- The identity of this server, which is constant during a session: a primary's timeline only changes when it
-- starts. The timeline is read from the log: the control file lags behind a promotion. The start time is a
-- number, since the text of a date depends on the session.
CREATE OR REPLACE FUNCTION tenure.leases_identity() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat(c.system_identifier, '/', left(pg_walfile_name(pg_current_wal_lsn()), 8), '/',
            tenure.leases_micros(pg_postmaster_start_time()))
        FROM pg_control_system() AS c
$body$;

-- The identity of the table: a table that was dropped and created again has another number, and one that was
-- emptied by TRUNCATE or rewritten has another file. A request reads it under its own lock on the table,
-- which prevents both until the request is committed.
CREATE OR REPLACE FUNCTION tenure.leases_place() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat('tenure.leases'::regclass::oid, '/', pg_relation_filenode('tenure.leases'::regclass))
$body$;

-- The process, and the start of its server, that carries this statement out. A pooler may have replaced the
-- process that reported the identity, even by one of another server.
CREATE OR REPLACE FUNCTION tenure.leases_backend() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat(pg_backend_pid(), '/', tenure.leases_micros(pg_postmaster_start_time()))
$body$;

-- Undoes a plain statement that read the clock too long before it got the row's lock.
CREATE OR REPLACE FUNCTION tenure.leases_late() RETURNS text
LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'waited for the row' USING ERRCODE = 'TN003';
END
$body$;

-- Reports a row that the user can't see.
CREATE OR REPLACE FUNCTION tenure.leases_hidden() RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'row security hides a row from this user' USING ERRCODE = 'TN004';
END
$body$;

-- The identity under which this server grants leases in this table. The caller passes the server's part, since it
-- takes long to compute, and the process that reported it, which must be this one.
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

-- Whether a candidate with these settings and one with the row's settings would not wait for each other's leases
-- after a loss of data. The row's settings count for as long as a candidate with them may still ask.
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
    known   bigint;
BEGIN
    -- The incumbent is read without a lock, which would be a write: see the observe function below. So are the
    -- settings of a live lease: they are compared as they were while it was live, or were written since.
    now := tenure.leases_micros(clock_timestamp());
    SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key;
    IF coalesce(lease.released OR now >= lease.lease_end OR lease.holder = of_holder, true) THEN
        -- That another session inserts the row and a third one purges it is rare; after ten times it is hidden.
        FOR attempt IN 1..10 LOOP
            SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
            EXIT WHEN FOUND;
            -- Waits for another session that has just inserted it. The row is not committed as it is: the
            -- first request is granted below, or an exception is raised.
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
        -- Never more than that lease's own TTL, even if the clock has stepped back.
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
    IF current_setting('fsync') = 'off' AND NOT trust_empty_store
        AND current_setting('elections.accepts_fsync_off', true) IS DISTINCT FROM 'on'
    THEN
        RAISE EXCEPTION 'fsync is off' USING ERRCODE = 'TN001';
    END IF;
    server := tenure.leases_here(server, backend);
    SELECT * INTO history FROM tenure.leases_history;
    -- A token above the record's proves a lost grant. Without a record, tokens up to the greatest purged one are known.
    known := CASE WHEN lease.token > 0 THEN lease.token ELSE coalesce(history.purged, 0) END;
    lost := seen > known;
    IF lost OR history.identity IS DISTINCT FROM server
        OR history.known_since > now OR history.longest_ttl < of_ttl
    THEN
        INSERT INTO tenure.leases_history DEFAULT VALUES ON CONFLICT DO NOTHING;
        -- Another election's grant may have written it meanwhile.
        SELECT * INTO history FROM tenure.leases_history FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM tenure.leases_hidden();
        END IF;
        -- Not before any time that was written there. The lease is locked, and so unchanged.
        now := tenure.leases_micros(clock_timestamp());
        IF history.identity = server AND NOT lost THEN
            -- A renewal may have set it to a time in the future; a grant waits for at most one quarantine.
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
            SET lease_end = greatest(lease.lease_end, now + of_ttl), ttl = of_ttl
            WHERE l.key = of_key;
        last := lease.token;
    ELSE
        last := greatest(known + 1, seen + 1, now);
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
-- If the caller names the server, its identity is compared: at a server that the history does not name, such a
-- renewal begins the history. The previous server may still acknowledge requests of its own leaders until they
-- learn of this one: the longest TTL is left for that. A grant before that time counts from the grant.
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

-- Ends the live lease of exactly this tenure, and wakes waiting candidates.
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
        -- A full queue would make the commit fail, and so the release, which can't be caught here. Without
        -- a notification, waiting candidates poll.
        IF pg_notification_queue_usage() < 0.5 THEN
            PERFORM pg_notify('tenure_leases', encode(of_key, 'hex'));
        END IF;
        answer := 'released';
    ELSE
        answer := 'not_held';
    END IF;
END
$body$;

-- Returns the holder of the lease. With a reading of the clock from before the row, no lock is needed to find it
-- live: it was live at that time, or was written since. A lease that seems to have expired may have been renewed
-- in time by a transaction that is not committed yet; so it is read again under a lock, which waits for that.
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

-- Stores a message to the tenure that holds the lease, if there is one, and announces it. Any role that can
-- connect may listen to announcements and send them, so they contain only the message's number: reading the
-- message needs the right to read the table. The leader has a minute to fetch it. A full queue makes the commit
-- fail, and so the request.
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

-- Sends a JSON text to the leader of an election, from any statement or trigger; returns the token of the tenure it is
-- addressed to, or NULL if no candidate leads. It never waits for a lock that candidates hold, and takes none that they
-- wait for: the transaction that calls it may last for long. So it does not lock a lease that seems to have ended, and
-- the message to a leader that is just being renewed may be lost.
--
-- It runs with the rights of its owner, so that a role that sends messages needs no right on the tables; therefore it
-- sets its own search path, and no role may call it that was not granted that.
CREATE OR REPLACE FUNCTION tenure.leases_notify_json(key text, channel text, payload json) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    of_key  bytea  := convert_to(key, 'UTF8');
    called  bytea  := convert_to(channel, 'UTF8');
    content bytea  := convert_to(payload::text, 'UTF8');
    now     bigint := tenure.leases_micros(clock_timestamp());
    part    record;
    holder  bigint;
    number  bytea;
BEGIN
    FOR part IN SELECT * FROM (VALUES
        ('key', octet_length(of_key), 1, 512),
        ('channel', octet_length(called), 1, 64),
        ('payload', octet_length(content), 1, 4096)
    ) AS parts (name, bytes, fewest, most) LOOP
        IF part.bytes IS NULL THEN
            RAISE EXCEPTION '% is null; it must have % to % bytes', part.name, part.fewest, part.most
                USING ERRCODE = 'null_value_not_allowed';
        ELSIF part.bytes NOT BETWEEN part.fewest AND part.most THEN
            RAISE EXCEPTION '% has % bytes; it must have % to %', part.name, part.bytes, part.fewest, part.most
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;
    SELECT l.token INTO holder FROM tenure.leases AS l
        WHERE l.key = of_key AND NOT l.released AND now < l.lease_end;
    IF holder IS NULL THEN
        RETURN NULL;
    END IF;
    -- A full queue would make the caller's commit fail, which can't be caught here.
    IF pg_notification_queue_usage() >= 0.5 THEN
        RAISE WARNING 'the queue of notifications is half full: the message to the leader is not sent';
        RETURN NULL;
    END IF;
    -- Under other isolation levels, to delete what others delete too would make the caller's transaction fail.
    IF current_setting('transaction_isolation') = 'read committed' THEN
        DELETE FROM tenure.leases_messages AS m USING (
            SELECT d.number FROM tenure.leases_messages AS d
                WHERE d.sent NOT BETWEEN now - 60000000 AND now + 60000000 FOR UPDATE SKIP LOCKED
        ) AS old WHERE m.number = old.number;
    END IF;
    -- The number of a transaction is never used again; it may send several messages.
    number := int8send(txid_current()) || int8send((random() * 9e18)::bigint);
    INSERT INTO tenure.leases_messages VALUES (number, of_key, holder, now,
        set_byte(decode('00', 'hex'), 0, octet_length(called)) || called || content);
    PERFORM pg_notify('tenure_leases_inbox', concat(encode(of_key, 'hex'), ' ', encode(number, 'hex')));
    RETURN holder;
END
$body$;

REVOKE ALL ON FUNCTION tenure.leases_notify_json(text, text, json) FROM PUBLIC;

-- For people: deletes the rows of elections whose last lease ended longer than a quarantine ago, and returns their
-- number, at most a thousand. The library does the same in smaller steps, by the statement in purge.sql. The next grant
-- of such an election has a token above all purged ones. A candidate that still knows a purged token does not prove a
-- loss.
CREATE OR REPLACE FUNCTION tenure.leases_purge(of_quarantine bigint) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    now     bigint := tenure.leases_micros(clock_timestamp());
    deleted bigint;
    highest bigint;
BEGIN
    IF of_quarantine IS NULL OR of_quarantine < 0 THEN
        RAISE EXCEPTION 'of_quarantine is %; it must be a number of microseconds, at least 0', of_quarantine
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
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

-- For people: the leaders, since when, and how long their leases last unless they are renewed.
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
