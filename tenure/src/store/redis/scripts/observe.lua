-- Observe: returns the holder of the lease, and for how long it holds it.
--
-- KEYS  1 the election's record
local record = redis.call('HMGET', KEYS[1], 'token', 'holder', 'lease_end', 'ttl', 'released')
if not (record[1] or record[2] or record[3]) then return {'vacant'} end
local last, lease_end, lasts = whole(record[1]), whole(record[3]), whole(record[4])
if not (last and lease_end and lasts and record[2]) then return {'refused', 'record'} end
if record[5] == '1' or now >= lease_end then return {'vacant'} end
return held(KEYS[1], last, lease_end, lasts, record[2])
