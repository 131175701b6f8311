SELECT l.token, l.holder, l.number, l.released, l.reserved_for, l.reserve, l.ttl, l.quarantine,
    l.wanted, l.asked, l.defer, l.written,
    -- What is longer than any candidate's is not read: the requests behind this one would wait for it.
    CASE WHEN octet_length(l.name) <= 128 AND octet_length(l.metadata) <= 4096 THEN l.name END,
    CASE WHEN octet_length(l.name) <= 128 AND octet_length(l.metadata) <= 4096 THEN l.metadata END,
    p.stamp, p.watched, p.longest, p.purged, tenure.leases_micros(clock_timestamp())
FROM unnest($1::bytea[]) WITH ORDINALITY AS a (key, place)
    LEFT JOIN tenure.leases AS l ON l.key = a.key
    LEFT JOIN tenure.leases_past AS p ON true
ORDER BY a.place
