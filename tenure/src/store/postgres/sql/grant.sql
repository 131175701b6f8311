UPDATE tenure.leases AS l
    SET token = greatest(l.token + 1, tenure.leases_micros(statement_timestamp())), holder = $2,
        since = tenure.leases_micros(statement_timestamp()),
        lease_end = tenure.leases_micros(statement_timestamp()) + $4, ttl = $4, quarantine = $7,
        released = false, name = $8, metadata = $9
    FROM tenure.leases_history AS h
    WHERE l.key = $1 AND l.token = $3
        AND (l.released OR l.lease_end <= tenure.leases_micros(statement_timestamp()))
        AND l.ttl <= $7 AND $4 <= l.quarantine
        AND h.identity = concat($5::text, '/', tenure.leases_place())
        AND h.known_since <= tenure.leases_micros(statement_timestamp()) AND $4 <= h.longest_ttl
        AND tenure.leases_backend() = $6 AND (current_setting('fsync') <> 'off' OR $10
            OR current_setting('elections.accepts_fsync_off', true) = 'on')
    RETURNING CASE WHEN clock_timestamp() < statement_timestamp() + interval '100 ms'
        THEN 'granted' ELSE tenure.leases_late() END,
        l.token,
        greatest(0,
            h.known_since + greatest($7, h.longest_ttl) - tenure.leases_micros(statement_timestamp()))
