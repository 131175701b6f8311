-- Release: ends the live lease of exactly this tenure, and wakes those who wait.
--
-- KEYS  1 the election's record, whose name is also the channel of its hints
-- ARGV  1 holder   2 token
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local record = redis.call('HMGET', KEYS[1], 'token', 'holder', 'lease_end', 'released')
local last, lease_end = tonumber(record[1] or '0'), tonumber(record[3] or '0')
if not (last and lease_end) then return {'refused', 'record'} end
local live = record[4] ~= '1' and now < lease_end

if live and record[2] == ARGV[1] and last == tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'released', '1')
  redis.call('PUBLISH', KEYS[1], ARGV[2])
  return {'released'}
end
return {'not_held'}
