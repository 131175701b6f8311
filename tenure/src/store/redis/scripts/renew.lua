#!lua flags=allow-oom
-- Renew: extends the live lease of exactly this tenure; never moves its end back.
--
-- At maxmemory the server refuses scripts that may take memory, which would cost leaders their lead. The
-- first line exempts this one: its writes replace values by others of the same length.
--
-- KEYS  1 the election's record
-- ARGV  1 holder   2 token   3 ttl, us
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

if live and record[2] == ARGV[1] and last == tonumber(ARGV[2]) then
  local ttl = tonumber(ARGV[3])
  redis.call('HSET', KEYS[1], 'lease_end', number(math.max(lease_end, now + ttl)),
    'ttl', number(ttl))
  return {'renewed'}
end
return {'superseded', last}
