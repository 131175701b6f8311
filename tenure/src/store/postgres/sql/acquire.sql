WITH granted AS (
    UPDATE tenure.leases AS l
        SET token = greatest(l.token + 1, $4 + 1,
                CASE WHEN tenure.leases_micros(statement_timestamp()) <= 4503599627370496
                    THEN tenure.leases_micros(statement_timestamp()) ELSE 0 END),
            holder = $2, number = $3, released = false, reserved_for = NULL, reserve = 0,
            ttl = $10, quarantine = $11, wanted = NULL, asked = NULL, told = NULL, defer = 0,
            written = tenure.leases_micros(statement_timestamp()), name = $13, metadata = $14
        FROM tenure.leases_past AS p
        WHERE l.key = $1 AND (l.released OR l.holder <> $2) AND ($4 <= l.token OR $5 = l.token)
            AND (l.holder = $6 AND l.number = $7
                OR l.released AND (l.reserved_for IS NULL OR l.reserved_for = $12) AND $4 >= l.token
                    AND $11 >= l.ttl AND l.quarantine >= $10)
            -- Nothing about the past changes.
            AND p.identity = concat($15::text, '/', tenure.leases_place()) AND tenure.leases_backend() = $16
            AND p.stamp IS NOT NULL AND p.watched >= greatest($11, p.longest) AND p.longest >= $10
            AND (p.stamp <> $8 OR p.watched >= $9) IS NOT FALSE
            AND (current_setting('fsync') <> 'off' OR $18
                OR current_setting('elections.accepts_fsync_off', true) = 'on')
        -- The candidate has seen the token before, so that one is at most $4.
        RETURNING l.token, l.token > $4
            AND (l.holder, l.number, l.released, l.ttl, l.quarantine) = ($2, $3, false, $10, $11) AS is_whole
)
SELECT CASE WHEN g.is_whole THEN g.token ELSE tenure.leases_altered() END FROM granted AS g
UNION ALL
SELECT tenure.leases_acquire($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
    WHERE NOT EXISTS (SELECT FROM granted)
