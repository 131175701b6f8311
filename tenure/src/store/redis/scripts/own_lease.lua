#!lua flags=allow-oom
-- The beginning of the scripts that change a lease only for its own tenure: whether it is `mine`.
--
-- At maxmemory the server refuses scripts that may take memory, which would cost leaders their lead. The
-- first line exempts these: their writes replace values by others of the same length.
--
-- KEYS  1 the election's record
-- ARGV  1 holder   2 token
local function number(value) return string.format('%.0f', value) end
-- A record has whole numbers; any other value, also 'nan', is damage.
local function whole(text) return string.match(text or '', '^%d+$') and tonumber(text) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local record = redis.call('HMGET', KEYS[1], 'token', 'holder', 'lease_end', 'released')
local last, lease_end = 0, 0
if record[1] or record[2] or record[3] then
  last, lease_end = whole(record[1]), whole(record[3])
  if not (last and lease_end) then return {'refused', 'record'} end
end
local live = record[4] ~= '1' and now < lease_end
local mine = live and record[2] == ARGV[1] and last == tonumber(ARGV[2])
