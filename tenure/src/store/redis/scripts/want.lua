-- Want: notes who should lead instead of exactly this tenure, until the next grant, and wakes waiting candidates.
--
-- KEYS  1 the election's record   2 the past, of the first request over a connection
-- ARGV  1 token   2 name's digest, 'any', or '' to take the wish back   3 the connection's number
local record, refusal = record_of(KEYS[1])
if refusal then return refusal end
if not record or record.released or record[1] ~= ARGV[1] then return {'not_noted'} end
redis.call('HSET', KEYS[1], 'wanted', ARGV[2])
redis.call('PUBLISH', KEYS[1], ARGV[1])
return {'noted'}
