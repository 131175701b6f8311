-- Extends the live lease of exactly this tenure; never moves its end back. ttl is in us.
local function renew(key, holder, token, ttl)
  local last, lease_end, mine = own_lease(key, holder, token)
  if not last then return lease_end end
  if not mine then return {'superseded', last} end
  redis.call('HSET', key, 'lease_end', number(math.max(lease_end, now + ttl)),
    'ttl', number(ttl))
  return {'renewed'}
end
