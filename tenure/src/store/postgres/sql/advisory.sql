-- Advisory locks in front of tenure's lease table, version 1: for psql and migration tools, after
-- lease_table.sql. May be run again. For other names: LeaseTable::advisory_sql.
--
-- A lease is granted and renewed only in a session that holds the election's advisory lock. Everything
-- else is decided by the lease table and its own functions, which these call: the row excludes other candidates,
-- and the lock excludes programs that only know the lock.
--
-- A session locks the election's row before it takes the lock. So only one candidate at a time tries to take it,
-- none is refused because of another one that then gets no lease, and a lock that is given up before a commit
-- can't be taken before that commit.
--
-- A lock is a number: a bigint, or a pair of integers as the halves of one.

CREATE OR REPLACE FUNCTION tenure.leases_locked_version() RETURNS integer
LANGUAGE sql IMMUTABLE AS $body$ SELECT 1 $body$;

-- Refuses a session that is not the one in which the connection began: a pooler has replaced it, and locks belong
-- to sessions.
CREATE OR REPLACE FUNCTION tenure.leases_lock_check(session text) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    IF current_setting('tenure.session', true) IS DISTINCT FROM session THEN
        RAISE EXCEPTION 'the session is not the one in which the connection began'
            USING ERRCODE = 'TN002';
    END IF;
END
$body$;

-- The process that has the lock: this one, if it has it, else one of the others that have it.
CREATE OR REPLACE FUNCTION tenure.leases_lock_pid(number bigint, pair boolean) RETURNS integer
LANGUAGE sql VOLATILE AS $body$
    SELECT l.pid FROM pg_locks AS l
        WHERE l.locktype = 'advisory' AND l.granted
            AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
            AND l.classid = ((number >> 32) & 4294967295)::oid
            AND l.objid = (number & 4294967295)::oid
            AND l.objsubid = CASE WHEN pair THEN 2 ELSE 1 END
        ORDER BY l.pid = pg_backend_pid() DESC LIMIT 1
$body$;

-- The name of the session's setting with the election and the holder for which it has the lock, in hexadecimal
-- digits with a slash between. Only the server's table of locks says whether it has the lock: a setting is
-- restored when a transaction fails, and a lock is not.
CREATE OR REPLACE FUNCTION tenure.leases_lock_name(number bigint, pair boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS $body$
    SELECT concat('tenure.lock_', to_hex(number), CASE WHEN pair THEN '_pair' END)
$body$;

-- Takes the lock for that holder, unless the session has it already; returns whether the session has it for that
-- holder then. Needs the election's row locked; leads is the holder of its lease, if that is live.
CREATE OR REPLACE FUNCTION tenure.leases_lock_take(
    of_key bytea, of_holder bytea, leads bytea, of_ttl bigint, number bigint, pair boolean
) RETURNS boolean
LANGUAGE plpgsql AS $body$
DECLARE
    name  text := tenure.leases_lock_name(number, pair);
    owner text;
    idle  text := current_setting('idle_session_timeout', true);
BEGIN
    IF tenure.leases_lock_pid(number, pair) IS DISTINCT FROM pg_backend_pid() THEN
        IF pair THEN
            IF NOT pg_try_advisory_lock((number >> 32)::integer, (number << 32 >> 32)::integer) THEN
                RETURN false;
            END IF;
        ELSIF NOT pg_try_advisory_lock(number) THEN
            RETURN false;
        END IF;
    ELSE
        -- A lock that is taken twice must be given up twice. The session may have it for another election
        -- with the same number, or for another candidate of this election that leads.
        owner := coalesce(current_setting(name, true), '');
        IF owner NOT IN ('', concat(encode(of_key, 'hex'), '/', encode(of_holder, 'hex')))
            AND (split_part(owner, '/', 1) <> encode(of_key, 'hex')
                OR split_part(owner, '/', 2) = encode(leads, 'hex'))
        THEN
            RETURN false;
        END IF;
    END IF;
    PERFORM set_config(name, concat(encode(of_key, 'hex'), '/', encode(of_holder, 'hex')), false);
    -- A candidate that has sent nothing for a whole TTL no longer leads, so the server may end its session. One
    -- second is added, so that a client does not use a session that is about to end. Servers before version 14
    -- can't do that.
    IF idle IS NOT NULL THEN
        PERFORM set_config('idle_session_timeout', least(2147483647, greatest(
            date_part('epoch', idle::interval) * 1000, ceil(of_ttl / 1000.0) + 1000))::bigint::text, false);
    END IF;
    RETURN true;
END
$body$;

-- Gives the lock up, and with the last lock the bound on the session's silence.
CREATE OR REPLACE FUNCTION tenure.leases_lock_give(number bigint, pair boolean) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    IF pair THEN
        PERFORM pg_advisory_unlock((number >> 32)::integer, (number << 32 >> 32)::integer);
    ELSE
        PERFORM pg_advisory_unlock(number);
    END IF;
    PERFORM set_config(tenure.leases_lock_name(number, pair), '', false);
    IF current_setting('idle_session_timeout', true) IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid()
    ) THEN
        PERFORM set_config('idle_session_timeout', '0', false);
    END IF;
END
$body$;

-- Gives the lock up, if the session has it for that tenure or without an owner. A later tenure of the same holder
-- keeps it.
CREATE OR REPLACE FUNCTION tenure.leases_lock_free(
    of_key bytea, of_holder bytea, of_token bigint, number bigint, pair boolean
) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    name text := tenure.leases_lock_name(number, pair);
BEGIN
    IF tenure.leases_lock_pid(number, pair) IS DISTINCT FROM pg_backend_pid()
        OR coalesce(current_setting(name, true), '')
            NOT IN ('', concat(encode(of_key, 'hex'), '/', encode(of_holder, 'hex')))
        OR EXISTS (SELECT FROM tenure.leases AS l
            WHERE l.key = of_key AND l.holder = of_holder AND l.token <> of_token)
    THEN
        RETURN;
    END IF;
    PERFORM tenure.leases_lock_give(number, pair);
END
$body$;

-- Gives up this session's locks for tenures that are over, of all elections: a candidate whose driver has ended
-- sends no more requests, and the requests of others keep the session open. At most once a second, since it reads
-- all of the server's locks.
CREATE OR REPLACE FUNCTION tenure.leases_lock_sweep() RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    now   bigint := tenure.leases_micros(clock_timestamp());
    swept bigint := coalesce(nullif(current_setting('tenure.swept', true), ''), '0')::bigint;
    had   record;
    owner text;
BEGIN
    IF now - swept BETWEEN 0 AND 999999 THEN
        RETURN;
    END IF;
    PERFORM set_config('tenure.swept', now::text, false);
    FOR had IN
        SELECT (l.classid::bigint << 32) | l.objid::bigint AS number, l.objsubid = 2 AS pair
            FROM pg_locks AS l
            WHERE l.locktype = 'advisory' AND l.granted AND l.pid = pg_backend_pid()
    LOOP
        owner := coalesce(current_setting(tenure.leases_lock_name(had.number, had.pair), true), '');
        -- A lock without an owner was taken by a renewal that failed later, whose tenure may lead. No row needs
        -- to be locked: only this session extends a lease for which it has the lock.
        IF owner <> '' AND NOT EXISTS (
            SELECT FROM tenure.leases AS l
                WHERE l.key = decode(split_part(owner, '/', 1), 'hex')
                    AND l.holder = decode(split_part(owner, '/', 2), 'hex')
                    AND NOT l.released AND now < l.lease_end
        ) THEN
            PERFORM tenure.leases_lock_give(had.number, had.pair);
        END IF;
    END LOOP;
END
$body$;

-- Takes over from sessions of the same program that were given up: ends them, and takes the locks of the
-- tenures that are still live, before programs that do not wait for them already.
CREATE OR REPLACE FUNCTION tenure.leases_lock_retake(
    processes integer[], starts bigint[],
    keys bytea[], holders bytea[], numbers bigint[], pairs boolean[]
) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    gone  boolean := false;
    taken boolean[] := array_fill(false, ARRAY[greatest(1, cardinality(keys))]);
    lease tenure.leases%ROWTYPE;
BEGIN
    WHILE NOT gone LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT count(pg_terminate_backend(a.pid)) = 0 INTO gone FROM pg_stat_activity AS a
            WHERE (a.pid, tenure.leases_micros(a.backend_start))
                IN (SELECT * FROM unnest(processes, starts));
        FOR i IN 1..cardinality(keys) LOOP
            CONTINUE WHEN taken[i];
            SELECT * INTO lease FROM tenure.leases AS l
                WHERE l.key = keys[i] AND l.holder = holders[i] AND NOT l.released
                    AND l.lease_end > tenure.leases_micros(clock_timestamp());
            taken[i] := NOT FOUND OR tenure.leases_lock_take(
                lease.key, lease.holder, lease.holder, lease.ttl, numbers[i], pairs[i]);
        END LOOP;
        IF NOT gone THEN
            PERFORM pg_sleep(0.002);
        END IF;
    END LOOP;
END
$body$;

-- The session that has the lock, as an incumbent: with a number that no holder has, and a name for people. A
-- session has no token, no TTL and no end, so the last tenure's token is returned, and candidates ask again every
-- second; sooner right after a lease's end, since the leader's session may be about to end too.
CREATE OR REPLACE FUNCTION tenure.leases_lock_held(
    of_key bytea, lease tenure.leases, now bigint, number bigint, pair boolean,
    OUT answer text, OUT last bigint, OUT micros bigint,
    OUT who bytea, OUT called bytea, OUT tells bytea, OUT lasts bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    process integer := coalesce(tenure.leases_lock_pid(number, pair), 0);
    owner   text := split_part(current_setting(tenure.leases_lock_name(number, pair), true), '/', 1);
BEGIN
    answer := 'held';
    last := greatest(lease.token, 1);
    micros := CASE WHEN NOT lease.released AND now - lease.lease_end < 2000000 THEN 50000
        ELSE 1000000 END;
    who := decode(lpad(to_hex(process), 32, '0'), 'hex');
    called := convert_to(concat('session ', process, ' of ', (
        -- The address is only visible to roles that may see it.
        SELECT left(coalesce(nullif(a.application_name, ''), concat(a.usename, ' at ', host(a.client_addr))), 90)
            FROM pg_stat_activity AS a WHERE a.pid = process
    )), 'UTF8');
    IF process = pg_backend_pid() AND owner <> encode(of_key, 'hex') THEN
        called := called || convert_to(' for the election ', 'UTF8') || decode(owner, 'hex');
    END IF;
    tells := ''; lasts := 0;
END
$body$;

CREATE OR REPLACE FUNCTION tenure.leases_locked_acquire(
    of_key bytea, of_holder bytea, seen bigint, of_ttl bigint, server text, backend text,
    of_quarantine bigint, of_name bytea, of_metadata bytea, trust_empty_store boolean,
    number bigint, pair boolean, session text, immediate boolean,
    OUT answer text, OUT last bigint, OUT micros bigint,
    OUT who bytea, OUT called bytea, OUT tells bytea, OUT lasts bigint, OUT declared bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now    bigint;
    lease  tenure.leases%ROWTYPE;
    leads  bytea;
    locked boolean := false;
BEGIN
    PERFORM tenure.leases_lock_check(session);
    PERFORM tenure.leases_lock_sweep();
    BEGIN
        FOR attempt IN 1..10 LOOP
            SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
            EXIT WHEN FOUND;
            -- A row without a token counts as none.
            INSERT INTO tenure.leases VALUES (of_key, 0, of_holder, 0, 0, 0, 0, true, '', '')
                ON CONFLICT DO NOTHING;
        END LOOP;
        IF lease.key IS NULL THEN
            PERFORM tenure.leases_hidden();
        END IF;
        now := tenure.leases_micros(clock_timestamp());
        IF NOT lease.released AND now < lease.lease_end THEN
            leads := lease.holder;
        END IF;

        IF leads IS DISTINCT FROM of_holder
            AND tenure.leases_contradicts(lease, now, of_ttl, of_quarantine)
        THEN
            answer := 'refused'; lasts := lease.ttl; declared := lease.quarantine;
            RETURN;
        END IF;
        IF leads IS NULL AND seen < lease.token THEN
            answer := 'stale'; last := lease.token;
            RETURN;
        END IF;
        -- Another holder's live lease decides, unless takeovers are immediate: then the lock does.
        IF coalesce(leads = of_holder OR immediate, true) THEN
            locked := tenure.leases_lock_take(of_key, of_holder, leads, of_ttl, number, pair);
        END IF;
        IF NOT locked THEN
            IF leads <> of_holder THEN
                answer := 'held'; last := lease.token;
                micros := least(lease.lease_end - now, lease.ttl, CASE WHEN immediate THEN 1000000 END);
                who := lease.holder; called := lease.name; tells := lease.metadata; lasts := lease.ttl;
            ELSE
                -- The row must have the token that is returned: a higher token of a candidate proves a loss.
                UPDATE tenure.leases AS l SET token = 1 WHERE l.key = of_key AND l.token = 0;
                SELECT h.* INTO answer, last, micros, who, called, tells, lasts
                    FROM tenure.leases_lock_held(of_key, lease, now, number, pair) AS h;
            END IF;
            RETURN;
        END IF;
        IF leads <> of_holder THEN
            -- The leader's session has ended, which is enough for an immediate takeover.
            IF seen < lease.token THEN
                answer := 'stale'; last := lease.token;
                PERFORM tenure.leases_lock_free(of_key, of_holder, NULL, number, pair);
                RETURN;
            END IF;
            UPDATE tenure.leases AS l SET released = true WHERE l.key = of_key;
        END IF;
        -- The lock is held: now the token is granted, and committed before the reply is sent.
        SELECT a.* INTO answer, last, micros, who, called, tells, lasts, declared
            FROM tenure.leases_acquire(of_key, of_holder, seen, of_ttl, server, backend,
                of_quarantine, of_name, of_metadata, trust_empty_store) AS a;
        IF answer <> 'granted' THEN
            PERFORM tenure.leases_lock_free(of_key, of_holder, NULL, number, pair);
        END IF;
    EXCEPTION WHEN query_canceled OR OTHERS THEN
        -- No lock without a lease.
        IF leads IS DISTINCT FROM of_holder THEN
            PERFORM tenure.leases_lock_free(of_key, of_holder, NULL, number, pair);
        END IF;
        RAISE;
    END;
END
$body$;

-- Extends the live lease of exactly this tenure, if the session has the lock, or gets it back after its connection
-- was lost. If another session has it by now, the tenure is over; its lease still has to expire before the next
-- grant.
CREATE OR REPLACE FUNCTION tenure.leases_locked_renew(
    of_key bytea, of_holder bytea, of_token bigint, of_ttl bigint, server text, backend text,
    number bigint, pair boolean, session text,
    OUT answer text, OUT last bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now   bigint;
    lease tenure.leases%ROWTYPE;
BEGIN
    PERFORM tenure.leases_lock_check(session);
    PERFORM tenure.leases_lock_sweep();
    SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key FOR UPDATE;
    now := tenure.leases_micros(clock_timestamp());
    IF NOT lease.released AND now < lease.lease_end
        AND lease.holder = of_holder AND lease.token = of_token
    THEN
        IF NOT tenure.leases_lock_take(of_key, of_holder, of_holder, of_ttl, number, pair) THEN
            answer := 'superseded'; last := lease.token;
            RETURN;
        END IF;
    END IF;
    SELECT r.* INTO answer, last
        FROM tenure.leases_renew(of_key, of_holder, of_token, of_ttl, server, backend) AS r;
    IF answer <> 'renewed' THEN
        PERFORM tenure.leases_lock_free(of_key, of_holder, of_token, number, pair);
    END IF;
END
$body$;

-- Ends the live lease of exactly this tenure, and then gives the lock up. If this is not committed, the lock
-- is free and the lease is not released: it has to expire.
CREATE OR REPLACE FUNCTION tenure.leases_locked_release(
    of_key bytea, of_holder bytea, of_token bigint,
    number bigint, pair boolean, session text,
    OUT answer text
) LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM tenure.leases_lock_check(session);
    BEGIN
        SELECT r.answer INTO answer FROM tenure.leases_release(of_key, of_holder, of_token) AS r;
        PERFORM tenure.leases_lock_free(of_key, of_holder, of_token, number, pair);
    EXCEPTION WHEN query_canceled OR OTHERS THEN
        PERFORM tenure.leases_lock_free(of_key, of_holder, of_token, number, pair);
        RAISE;
    END;
END
$body$;

-- Returns the leader, or the other session that has the lock.
CREATE OR REPLACE FUNCTION tenure.leases_locked_observe(
    of_key bytea, number bigint, pair boolean,
    OUT answer text, OUT last bigint, OUT micros bigint,
    OUT who bytea, OUT called bytea, OUT tells bytea, OUT lasts bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    now   bigint := tenure.leases_micros(clock_timestamp());
    lease tenure.leases%ROWTYPE;
BEGIN
    PERFORM tenure.leases_lock_sweep();
    SELECT o.* INTO answer, last, micros, who, called, tells, lasts
        FROM tenure.leases_observe(of_key) AS o;
    IF answer = 'vacant' AND tenure.leases_lock_pid(number, pair) <> pg_backend_pid() THEN
        SELECT * INTO lease FROM tenure.leases AS l WHERE l.key = of_key;
        SELECT h.* INTO answer, last, micros, who, called, tells, lasts
            FROM tenure.leases_lock_held(of_key, lease, now, number, pair) AS h;
    END IF;
END
$body$;
