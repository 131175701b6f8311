WITH page AS MATERIALIZED (
    SELECT l.key FROM tenure.leases AS l WHERE l.key > $1 ORDER BY l.key LIMIT $3
), upto AS MATERIALIZED (
    SELECT p.key FROM page AS p ORDER BY p.key DESC LIMIT 1
), knows AS MATERIALIZED (
    SELECT bool_and(position($4 IN f.prosrc) > 0) AS all_purged
        FROM pg_proc AS f JOIN pg_namespace AS n ON n.oid = f.pronamespace
        WHERE n.nspname = $5 AND f.proname = $6
), ended AS MATERIALIZED (
    SELECT l.key FROM tenure.leases AS l, tenure.leases_history AS h
        WHERE l.key > $1 AND l.key <= (SELECT u.key FROM upto AS u)
            AND l.lease_end + greatest($2, h.longest_ttl, l.ttl, l.quarantine)
                < tenure.leases_micros(clock_timestamp())
            AND l.token < tenure.leases_micros(clock_timestamp())
            AND (SELECT k.all_purged FROM knows AS k)
        FOR UPDATE OF l SKIP LOCKED
), gone AS (
    DELETE FROM tenure.leases AS l USING ended AS e WHERE l.key = e.key RETURNING l.token
), noted AS (
    UPDATE tenure.leases_history AS h SET purged = greatest(h.purged, (SELECT max(g.token) FROM gone AS g))
        WHERE EXISTS (SELECT FROM gone)
)
SELECT (SELECT count(*) FROM gone),
    CASE WHEN (SELECT count(*) FROM page) = $3 THEN (SELECT u.key FROM upto AS u) END,
    coalesce((SELECT k.all_purged FROM knows AS k), false)
