UPDATE tenure.leases AS l
    SET token = greatest(l.token + 1, tenure.leases_micros(statement_timestamp())), holder = $2,
        since = tenure.leases_micros(statement_timestamp()),
        lease_end = tenure.leases_micros(statement_timestamp()) + $4, ttl = $4,
        released = false, name = $6, metadata = $7
    FROM tenure.leases_history AS h
    WHERE l.key = $1 AND l.token = $3
        AND (l.released OR l.lease_end <= tenure.leases_micros(statement_timestamp()))
        AND h.identity = $9 AND (current_setting('fsync') <> 'off' OR $8)
    RETURNING CASE WHEN clock_timestamp() < statement_timestamp() + interval '100 ms'
        THEN 'granted' ELSE tenure.leases_late() END,
        l.token,
        greatest(0, h.known_since + $5 - tenure.leases_micros(statement_timestamp()))
