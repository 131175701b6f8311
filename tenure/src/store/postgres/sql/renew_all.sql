WITH asked AS MATERIALIZED (
    SELECT l.key, a.holder, a.token, a.number, a.stamp, a.watched, a.place
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[])
            WITH ORDINALITY AS a (key, holder, token, number, stamp, watched, place)
        JOIN tenure.leases AS l ON l.key = a.key
        FOR UPDATE OF l SKIP LOCKED
), renewed AS (
    UPDATE tenure.leases AS l
        SET number = a.number, told = l.asked, asked = NULL,
            written = tenure.leases_micros(statement_timestamp())
        FROM asked AS a
        WHERE l.key = a.key AND l.holder = a.holder AND l.token = a.token AND NOT l.released
            AND l.number < a.number
        RETURNING a.place, l.told, l.defer, l.wanted, l.quarantine, a.stamp, a.watched,
            (l.holder, l.token, l.number, l.released) = (a.holder, a.token, a.number, false) AS is_whole
), reported AS MATERIALIZED (
    -- No renewal waits for the past: a report that is left out comes again with the next renewal.
    SELECT p.only_row, r.stamp, r.watched
        FROM (SELECT r.stamp, max(r.watched) AS watched FROM renewed AS r GROUP BY r.stamp) AS r
        JOIN tenure.leases_past AS p ON p.stamp = r.stamp AND p.watched < r.watched
        FOR UPDATE OF p SKIP LOCKED
), noted AS (
    UPDATE tenure.leases_past AS p SET watched = r.watched
        FROM reported AS r
        WHERE p.only_row = r.only_row AND p.stamp = r.stamp AND p.watched < r.watched
        RETURNING p.watched
)
SELECT r.place, r.told, r.defer, r.wanted, (
    SELECT p.stamp || int8send(p.longest) FROM tenure.leases_past AS p
        WHERE greatest(p.watched, (SELECT n.watched FROM noted AS n)) < greatest(r.quarantine, p.longest))
FROM renewed AS r
-- The others are renewed alone, which reports what was altered.
WHERE r.is_whole
