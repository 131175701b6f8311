UPDATE tenure.leases AS l SET wanted = $3 WHERE l.key = $1 AND l.token = $2 AND NOT l.released
    -- As for a release.
    RETURNING CASE WHEN $4 AND pg_notification_queue_usage() < 0.5
        THEN pg_notify('tenure_leases', encode(l.key, 'hex'))::text END
