-- The lease table of tenure, version 2: for psql and migration tools. May be run again.
--
-- For other names than the schema tenure and the table leases: LeaseTable::schema_sql. For the rights of users
-- that take part in elections: LeaseTable::grants_sql.
--
-- Each request is one atomic step of the store contract: a candidate may take what it has watched, unchanged, for as
-- long as it must, and the store only compares. No decision rests on the server's clock. Renewals, releases and most
-- grants are plain statements (*.sql beside this file) whose conditions are the comparison: under READ COMMITTED the
-- server checks them again on a row that has changed while the statement waited for it. The function
-- leases_acquire decides all other acquires; each of its statements sees everything that was committed before it.
--
-- The session sets how long a statement may wait for a lock (lock_timeout): requests for all elections
-- are carried out one after the other on one connection, and a statement that waits delays the others.
--
-- What locks the row of an election and that of the past locks them in this order.

DO $body$
BEGIN
    -- IF NOT EXISTS does not protect from others that create it too: they wait until this transaction ends.
    PERFORM pg_advisory_xact_lock(hashtext('tenure'));
    -- It would also need the right to create the schema where that exists. The catalogue is read, since what the
    -- session remembers of it may be older than the lock.
    IF NOT EXISTS (SELECT FROM pg_namespace AS n WHERE n.oid = to_regnamespace('tenure')) THEN
        CREATE SCHEMA tenure;
    END IF;
END
$body$;

-- Keys, names and identities are bytes, so that they do not depend on the collation or the encoding of the database.
-- Durations and times are microseconds. With free space in the pages, renewals do not update the index.
CREATE TABLE IF NOT EXISTS tenure.leases (
    key          bytea   NOT NULL PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 512),
    token        bigint  NOT NULL CHECK (token > 0),
    -- The mark: which request last won or extended the lease.
    holder       bytea   NOT NULL CHECK (octet_length(holder) = 16),
    number       bigint  NOT NULL CHECK (number > 0),
    released     boolean NOT NULL DEFAULT false,
    -- The digest of the candidate's name for which a released lease is kept, and how long others have to watch it.
    reserved_for bytea CHECK (octet_length(reserved_for) = 16),
    reserve      bigint  NOT NULL DEFAULT 0,
    ttl          bigint  NOT NULL CHECK (ttl >= 0),
    quarantine   bigint  NOT NULL CHECK (quarantine >= 0),
    -- Whom an operator wishes to lead: the digest of a name, or nothing for any candidate but the leader.
    wanted       bytea CHECK (octet_length(wanted) IN (0, 16)),
    -- Who has asked for the lead since the last renewal, and what that renewal was told of it.
    asked        bytea CHECK (octet_length(asked) = 16),
    told         bytea,
    defer        bigint  NOT NULL DEFAULT 0,
    -- When the mark was written: for people, and as a hint.
    written      bigint  NOT NULL,
    name         bytea   NOT NULL,
    metadata     bytea   NOT NULL,
    -- The last tenure that has replaced its name and metadata, and the version of those.
    described_token   bigint NOT NULL DEFAULT 0,
    described_version bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- One row: which server, database and table it is about, the stamp (there is no past without one), the longest time for
-- which one candidate has watched the stamp, the longest TTL that was granted, and the greatest token that was purged.
CREATE TABLE IF NOT EXISTS tenure.leases_past (
    only_row boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row),
    identity text,
    stamp    bytea CHECK (octet_length(stamp) = 16),
    watched  bigint  NOT NULL DEFAULT 0,
    longest  bigint  NOT NULL DEFAULT 0,
    purged   bigint  NOT NULL DEFAULT 0
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
LANGUAGE sql IMMUTABLE AS $body$ SELECT 2 $body$;

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
-- which prevents both until the request is committed. The path of the file has the database's number, which a copy of
-- the database (CREATE DATABASE .. TEMPLATE) does not share.
CREATE OR REPLACE FUNCTION tenure.leases_place() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat('tenure.leases'::regclass::oid, '/',
            replace(pg_relation_filepath('tenure.leases'::regclass), '/', '.'))
$body$;

-- The process, and the start of its server, that carries this statement out. A pooler may have replaced the
-- process that reported the identity, even by one of another server.
CREATE OR REPLACE FUNCTION tenure.leases_backend() RETURNS text
LANGUAGE sql STABLE AS $body$
    SELECT concat(pg_backend_pid(), '/', tenure.leases_micros(pg_postmaster_start_time()))
$body$;

-- Reports a row that the user can't see.
CREATE OR REPLACE FUNCTION tenure.leases_hidden() RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'row security hides a row from this user' USING ERRCODE = 'TN004';
END
$body$;

-- Reports that the table does not have what was written: a grant is what the row says, not what a statement meant.
CREATE OR REPLACE FUNCTION tenure.leases_altered() RETURNS bigint
LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'the table does not have what was written' USING ERRCODE = 'TN006';
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

-- A stamp that was never given before: the server seeds its random numbers for each process.
CREATE OR REPLACE FUNCTION tenure.leases_stamp(server text) RETURNS bytea
LANGUAGE sql VOLATILE AS $body$
    SELECT substring(sha256(convert_to(concat_ws('/', server, pg_backend_pid(),
        tenure.leases_micros(clock_timestamp()), random(), random()), 'UTF8')) FOR 16)
$body$;

-- Locks the past's row, which is made first if there is none.
CREATE OR REPLACE FUNCTION tenure.leases_lock_past() RETURNS tenure.leases_past
LANGUAGE plpgsql AS $body$
DECLARE
    past tenure.leases_past%ROWTYPE;
BEGIN
    SELECT * INTO past FROM tenure.leases_past FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO tenure.leases_past DEFAULT VALUES ON CONFLICT DO NOTHING;
        SELECT * INTO past FROM tenure.leases_past FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM tenure.leases_hidden();
        END IF;
    END IF;
    RETURN past;
END
$body$;

-- Compares the server with the past: before the first request over a connection. A server that the past does not name
-- may have lost grants.
CREATE OR REPLACE FUNCTION tenure.leases_examine(server text, backend text) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    past tenure.leases_past%ROWTYPE;
BEGIN
    server := tenure.leases_here(server, backend);
    IF EXISTS (SELECT FROM tenure.leases_past AS p WHERE p.identity = server AND p.stamp IS NOT NULL) THEN
        RETURN;
    END IF;
    past := tenure.leases_lock_past();
    IF past.stamp IS NULL OR past.identity IS DISTINCT FROM server THEN
        UPDATE tenure.leases_past AS p SET identity = server, stamp = tenure.leases_stamp(server), watched = 0
            WHERE p.only_row;
    END IF;
END
$body$;

-- Grants the lease, and returns its token; NULL if it does not. `seen` and `lost` are 0 for no token; `lost` and
-- what was watched are NULL if they are not told. The first attempt locks nothing, and is the last one
-- if nothing is to be written: a refusal that changes nothing is no write.
CREATE OR REPLACE FUNCTION tenure.leases_acquire(
    of_key bytea, of_holder bytea, of_number bigint, seen bigint, lost bigint,
    watched_holder bytea, watched_number bigint, of_stamp bytea, of_watched bigint,
    of_ttl bigint, of_quarantine bigint, of_id bytea, of_name bytea, of_metadata bytea,
    server text, backend text, is_first boolean, trust_empty_store boolean
) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    lease     tenure.leases%ROWTYPE;
    past      tenure.leases_past%ROWTYPE;
    before    tenure.leases_past%ROWTYPE;
    now       bigint;
    last      bigint;
    mine      boolean;
    changes   boolean;
    grantable boolean;
    granted   boolean;
BEGIN
    server := tenure.leases_here(server, backend);
    -- That another session inserts the row and a third one purges it is rare; after ten times it is hidden, or was not
    -- inserted.
    FOR attempt IN 0..10 LOOP
        -- TN005: begin again. The block lets go its locks then; otherwise the past would be locked before the row.
        BEGIN
            changes := past IS DISTINCT FROM before;
            IF attempt = 0 THEN
                SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key;
                SELECT * INTO past FROM tenure.leases_past;
            ELSE
                SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
                -- A stamp must not come between this reading and the grant. Grants do not wait for each other.
                IF changes THEN
                    past := tenure.leases_lock_past();
                ELSE
                    SELECT * INTO past FROM tenure.leases_past FOR SHARE;
                END IF;
            END IF;
            before := past;
            last := CASE WHEN lease.key IS NULL THEN coalesce(past.purged, 0) ELSE lease.token END;
            mine := coalesce(NOT lease.released AND lease.holder = of_holder, false);
            grantable := mine
                OR lease.key IS NULL AND seen >= coalesce(past.purged, 0)
                OR coalesce(lease.released AND coalesce(lease.reserved_for = of_id, true) AND seen >= lease.token
                    AND of_quarantine >= lease.ttl AND lease.quarantine >= of_ttl, false)
                OR coalesce(lease.holder = watched_holder AND lease.number = watched_number, false);

            IF (is_first OR grantable) AND (past.stamp IS NULL OR past.identity IS DISTINCT FROM server) THEN
                -- A past that is trusted from the beginning counts as watched for ever.
                past.watched := CASE WHEN past.stamp IS NULL AND trust_empty_store AND seen <= last
                    THEN 4503599627370496 ELSE 0 END;
                past.identity := server;
                past.stamp := tenure.leases_stamp(server);
            END IF;
            IF seen > last AND lost IS DISTINCT FROM last THEN
                -- A lost grant that the candidate has not watched out. Only a past that was watched gets a new stamp:
                -- otherwise two candidates would stamp each other away for ever.
                granted := false;
                IF past.stamp IS NOT NULL AND past.watched > 0 THEN
                    past.stamp := tenure.leases_stamp(server);
                    past.watched := 0;
                END IF;
            ELSE
                IF past.stamp = of_stamp THEN
                    past.watched := greatest(past.watched, of_watched);
                END IF;
                granted := grantable AND past.stamp IS NOT NULL
                    AND past.watched >= greatest(of_quarantine, past.longest);
                IF granted AND NOT mine THEN
                    past.longest := greatest(past.longest, of_ttl);
                END IF;
            END IF;
            IF NOT granted AND past IS NOT DISTINCT FROM before THEN
                RETURN NULL;
            END IF;
            CONTINUE WHEN attempt = 0;
            IF past IS DISTINCT FROM before AND NOT changes THEN
                RAISE EXCEPTION USING ERRCODE = 'TN005';
            END IF;

            IF granted AND current_setting('fsync') = 'off' AND NOT trust_empty_store
                AND current_setting('elections.accepts_fsync_off', true) IS DISTINCT FROM 'on'
            THEN
                RAISE EXCEPTION 'fsync is off' USING ERRCODE = 'TN001';
            END IF;
            now := tenure.leases_micros(clock_timestamp());
            IF granted AND mine THEN
                UPDATE tenure.leases AS l SET number = of_number, written = now
                    WHERE l.key = of_key AND l.number < of_number;
                last := lease.token;
            ELSIF granted THEN
                last := greatest(last + 1, seen + 1, CASE WHEN now <= 4503599627370496 THEN now ELSE 0 END);
                IF lease.key IS NULL THEN
                    -- Waits for another session that has just inserted it.
                    INSERT INTO tenure.leases (key, token, holder, number, ttl, quarantine, written, name, metadata)
                        VALUES (of_key, last, of_holder, of_number, of_ttl, of_quarantine, now, of_name, of_metadata)
                        ON CONFLICT DO NOTHING;
                    IF NOT FOUND THEN
                        RAISE EXCEPTION USING ERRCODE = 'TN005';
                    END IF;
                ELSE
                    UPDATE tenure.leases AS l
                        SET token = last, holder = of_holder, number = of_number, released = false,
                            reserved_for = NULL, reserve = 0, ttl = of_ttl, quarantine = of_quarantine,
                            wanted = NULL, asked = NULL, told = NULL, defer = 0,
                            written = now, name = of_name, metadata = of_metadata
                        WHERE l.key = of_key;
                END IF;
            END IF;
            IF past IS DISTINCT FROM before THEN
                UPDATE tenure.leases_past AS p SET identity = past.identity, stamp = past.stamp,
                    watched = past.watched, longest = past.longest
                    WHERE p.only_row;
                PERFORM FROM tenure.leases_past AS p
                    WHERE (p.identity, p.stamp, p.watched, p.longest)
                        IS NOT DISTINCT FROM (past.identity, past.stamp, past.watched, past.longest);
                IF NOT FOUND THEN
                    PERFORM tenure.leases_altered();
                END IF;
            END IF;
            -- Read again, since triggers that come after a statement change rows too.
            IF granted THEN
                PERFORM FROM tenure.leases AS l
                    WHERE l.key = of_key AND l.token = last AND l.holder = of_holder AND l.number >= of_number
                        AND NOT l.released AND l.ttl = CASE WHEN mine THEN lease.ttl ELSE of_ttl END
                        AND l.quarantine = CASE WHEN mine THEN lease.quarantine ELSE of_quarantine END;
                IF NOT FOUND THEN
                    PERFORM tenure.leases_altered();
                END IF;
            END IF;
            RETURN CASE WHEN granted THEN last END;
        EXCEPTION WHEN SQLSTATE 'TN005' THEN NULL;
        END;
    END LOOP;
    IF row_security_active('tenure.leases') THEN
        PERFORM tenure.leases_hidden();
    END IF;
    PERFORM tenure.leases_altered();
END
$body$;

-- Stores a message to the tenure that holds the lease, if there is one, and announces it. Any role that can
-- connect may listen to announcements and send them, so they contain only the message's number: reading the
-- message needs the right to read the table. The leader has a minute to fetch it. A full queue makes the commit
-- fail, and so the request. Returns the tenure's token.
CREATE OR REPLACE FUNCTION tenure.leases_notify(of_key bytea, number bytea, message bytea) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    now    bigint := tenure.leases_micros(clock_timestamp());
    leader bigint := (SELECT l.token FROM tenure.leases AS l WHERE l.key = of_key AND NOT l.released);
BEGIN
    IF leader IS NOT NULL THEN
        DELETE FROM tenure.leases_messages AS m USING (
            SELECT d.number FROM tenure.leases_messages AS d
                WHERE d.sent NOT BETWEEN now - 60000000 AND now + 60000000 FOR UPDATE SKIP LOCKED
        ) AS old WHERE m.number = old.number;
        INSERT INTO tenure.leases_messages VALUES (number, of_key, leader, now, message);
        PERFORM pg_notify('tenure_leases_inbox', concat(encode(of_key, 'hex'), ' ', encode(number, 'hex')));
    END IF;
    RETURN leader;
END
$body$;

-- Sends a JSON text to the leader of an election, from any statement or trigger; returns the token of the tenure it is
-- addressed to, or NULL if no candidate leads. Before the commit, it neither waits for a lock that candidates hold nor
-- takes one that they wait for: the transaction that calls it may last for long.
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
        WHERE l.key = of_key AND NOT l.released;
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

-- For people: the elections whose leases were not given back, when they were last renewed, and since when they are held. A
-- token is the server's clock at the grant, unless that is above any time.
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
       to_timestamp(l.written / 1e6) AS renewed,
       l.ttl * interval '1 microsecond' AS ttl,
       CASE WHEN l.token < 253402300800000000 THEN to_timestamp(l.token / 1e6) END AS since
FROM tenure.leases AS l
WHERE NOT l.released;
