UPDATE tenure.leases AS l SET asked = $3, defer = $4
    WHERE l.key = $1 AND l.token = $2 AND NOT l.released
        -- Who is wished for stays. The same one again is no write.
        AND (l.asked IS NULL OR l.wanted IS NULL OR l.wanted NOT IN ('', l.asked))
        AND (l.asked, l.defer) IS DISTINCT FROM ($3, $4)
