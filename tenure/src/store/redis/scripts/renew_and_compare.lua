-- Renew, and compare: a renewal as in renew.lua that begins the prefix's history anew at a server that has
-- not granted anything yet. It is for the first renewal over a connection, so that later ones cost less. At
-- maxmemory it also writes one history for each prefix, of three short values.
--
-- KEYS  1 the election's record   2 the prefix's history
-- ARGV  1 holder   2 token   3 ttl, us
local ttl = tonumber(ARGV[3])
local server, refusal = report({'server', 'replication'}, {'run_id', 'master_replid'})
if not server then return {refusal} end
local answer = renew(KEYS[1], ARGV[1], ARGV[2], ttl)
if answer[1] ~= 'renewed' then return {answer} end

-- The previous server may still acknowledge requests of its own leaders until they learn of this one:
-- the longest TTL is left for that. A grant before that time counts from the grant.
local identity = identity(server)
local history = redis.call('HMGET', KEYS[2], 'identity', 'known_since', 'longest_ttl')
if history[1] ~= identity or not whole(history[2]) then
  local longest = math.max(whole(history[3]) or 0, ttl)
  redis.call('HSET', KEYS[2], 'identity', identity, 'known_since', number(now + longest),
    'longest_ttl', number(longest))
end
return {answer}
