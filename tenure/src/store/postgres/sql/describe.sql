WITH described AS (
    UPDATE tenure.leases AS l
        SET name = $5, metadata = $6, described_token = $3, described_version = $4
        WHERE l.key = $1 AND l.holder = $2 AND l.token = $3
            AND (l.described_token <> $3 OR l.described_version < $4)
        RETURNING l.key
)
SELECT EXISTS (SELECT FROM described)
    OR EXISTS (SELECT FROM tenure.leases AS l WHERE l.key = $1 AND l.holder = $2 AND l.token = $3)
