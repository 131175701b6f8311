UPDATE tenure.leases AS l SET released = true, reserved_for = $4, reserve = $5
    WHERE l.key = $1 AND l.holder = $2 AND l.token = $3 AND NOT l.released
    -- A full queue would make the commit fail, and so the release. Without a notification, waiting candidates poll.
    RETURNING CASE WHEN $6 AND pg_notification_queue_usage() < 0.5
        THEN pg_notify('tenure_leases', encode(l.key, 'hex'))::text END
