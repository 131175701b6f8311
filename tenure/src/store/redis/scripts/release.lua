-- Release: gives the lease of exactly this tenure back, to all or for a while to one name, and wakes waiting candidates:
-- the record's name is also the channel of its hints.
--
-- KEYS  1 the election's record   2 the past, of the first request over a connection
-- ARGV  1 holder   2 token   3 name's digest, or ''   4 for how long others have to watch, us   5 the connection's number
local record, refusal = record_of(KEYS[1])
if refusal then return refusal end
if not record or record.released or record.holder ~= ARGV[1] or record[1] ~= ARGV[2] then return {'not_held'} end
redis.call('HSET', KEYS[1], 'released', '1', 'reserved_for', ARGV[3], 'reserve', ARGV[4])
redis.call('PUBLISH', KEYS[1], ARGV[2])
return {'released'}
