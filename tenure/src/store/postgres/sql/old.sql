SELECT l.key, l.holder, l.number, l.released, greatest(l.ttl, l.quarantine),
    l.written < tenure.leases_micros(clock_timestamp()) - $2
FROM tenure.leases AS l WHERE l.key > $1 ORDER BY l.key LIMIT $3
