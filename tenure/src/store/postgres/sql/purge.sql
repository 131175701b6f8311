WITH marked AS MATERIALIZED (
    SELECT l.key FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::boolean[])
            AS a (key, holder, number, watched)
        JOIN tenure.leases AS l ON l.key = a.key
        WHERE l.holder = a.holder AND l.number = a.number AND (l.released OR a.watched)
            AND EXISTS (SELECT FROM tenure.leases_past AS p WHERE p.stamp IS NOT NULL)
        FOR UPDATE OF l SKIP LOCKED
), gone AS (
    DELETE FROM tenure.leases AS l USING marked AS m WHERE l.key = m.key RETURNING l.key, l.token
), noted AS (
    UPDATE tenure.leases_past AS p SET purged = greatest(p.purged, (SELECT max(g.token) FROM gone AS g))
        WHERE EXISTS (SELECT FROM gone)
        RETURNING p.purged
)
-- Tokens would fall if the highest one were not noted.
SELECT g.key FROM gone AS g
    WHERE CASE WHEN g.token <= (SELECT n.purged FROM noted AS n) THEN true
        ELSE tenure.leases_altered() IS NULL END
