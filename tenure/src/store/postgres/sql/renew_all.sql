WITH asked AS MATERIALIZED (
    SELECT l.key, a.holder, a.token, a.ttl, a.place
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
            AS a (key, holder, token, ttl, place)
        JOIN tenure.leases AS l ON l.key = a.key
        FOR UPDATE OF l SKIP LOCKED
)
UPDATE tenure.leases AS l
    SET lease_end = tenure.leases_micros(statement_timestamp()) + a.ttl, ttl = a.ttl
    FROM asked AS a
    WHERE l.key = a.key AND l.holder = a.holder AND l.token = a.token AND NOT l.released
        AND l.lease_end - tenure.leases_micros(statement_timestamp()) BETWEEN 100000 AND a.ttl
    RETURNING CASE WHEN clock_timestamp() < statement_timestamp() + interval '100 ms'
        THEN 'renewed' ELSE tenure.leases_late() END, a.place
