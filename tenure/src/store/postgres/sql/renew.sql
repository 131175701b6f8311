UPDATE tenure.leases AS l
    SET number = $4, told = l.asked, asked = NULL, written = tenure.leases_micros(statement_timestamp())
    WHERE l.key = $1 AND l.holder = $2 AND l.token = $3 AND NOT l.released AND l.number < $4
    RETURNING CASE WHEN (l.holder, l.token, l.number, l.released) = ($2, $3, $4, false)
            THEN 1::bigint ELSE tenure.leases_altered() END, l.told, l.defer, l.wanted, (
        SELECT p.stamp || int8send(p.longest) FROM tenure.leases_past AS p
            WHERE p.watched < greatest(l.quarantine, p.longest))
