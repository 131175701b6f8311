-- Release: ends the live lease of exactly this tenure, and wakes waiting candidates: the record's name is
-- also the channel of its hints.
--
-- KEYS  1 the election's record
-- ARGV  1 holder   2 token
local last, refusal, mine = own_lease(KEYS[1], ARGV[1], ARGV[2])
if not last then return refusal end
if not mine then return {'not_held'} end
redis.call('HSET', KEYS[1], 'released', '1')
redis.call('PUBLISH', KEYS[1], ARGV[2])
return {'released'}
