#!lua flags=allow-oom
-- Renew, and compare: a renewal as in renew.lua that begins the prefix's history anew at a server that has
-- not granted anything yet. It is for the first renewal over a connection, so that later ones cost less.
--
-- The first line lets it run at maxmemory, like renew.lua: it also writes one history for each prefix, of
-- three short values.
--
-- KEYS  1 the election's record   2 the prefix's history
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

  -- The previous server may still acknowledge requests of its own leaders until they learn of this one:
  -- the longest TTL is left for that. A grant before that time counts from the grant.
  local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
  local function field(name) return string.match(info, '\n' .. name .. ':([^\r\n]*)') or '' end
  local identity = field('run_id') .. '/' .. field('master_replid')
  local history = redis.call('HMGET', KEYS[2], 'identity', 'known_since', 'longest_ttl')
  if history[1] ~= identity or not whole(history[2]) then
    local longest = math.max(whole(history[3]) or 0, ttl)
    redis.call('HSET', KEYS[2], 'identity', identity, 'known_since', number(now + longest),
      'longest_ttl', number(longest))
  end
  return {'renewed'}
end
return {'superseded', last}
