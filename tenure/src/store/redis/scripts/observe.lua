-- Observe: returns the holder of the lease, and for how long it holds it.
--
-- KEYS  1 the election's record
-- A record has whole numbers; any other value, also 'nan', is damage.
local function whole(text) return string.match(text or '', '^%d+$') and tonumber(text) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local record = redis.call('HMGET', KEYS[1],
  'token', 'holder', 'lease_end', 'ttl', 'released', 'name', 'metadata')
if not (record[1] or record[2] or record[3]) then return {'vacant'} end
local last, lease_end, lasts = whole(record[1]), whole(record[3]), whole(record[4])
if not (last and lease_end and lasts and record[2]) then return {'refused', 'record'} end
if record[5] == '1' or now >= lease_end then return {'vacant'} end
local remaining = math.min(lease_end - now, lasts)
return {'held', last, remaining, record[2], record[6] or '', record[7] or '', lasts}
