-- Renew: extends the live lease of exactly this tenure; never moves its end back.
--
-- ARGV  3 ttl, us
if not mine then return {'superseded', last} end
local ttl = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], 'lease_end', number(math.max(lease_end, now + ttl)),
  'ttl', number(ttl))
return {'renewed'}
