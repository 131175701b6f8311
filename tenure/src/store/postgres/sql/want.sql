UPDATE tenure.leases AS l SET wanted = $3 WHERE l.key = $1 AND l.token = $2 AND NOT l.released
    RETURNING 1
