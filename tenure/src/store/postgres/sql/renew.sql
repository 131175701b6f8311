UPDATE tenure.leases AS l
    SET lease_end = tenure.leases_micros(statement_timestamp()) + $4, ttl = $4
    WHERE l.key = $1 AND l.holder = $2 AND l.token = $3 AND NOT l.released
        AND l.lease_end - tenure.leases_micros(statement_timestamp()) BETWEEN 100000 AND $4
    RETURNING CASE WHEN clock_timestamp() < statement_timestamp() + interval '100 ms'
        THEN 'renewed' ELSE tenure.leases_late() END
