-- What the server reports about itself. It is asked once a call, and only where that matters: it costs more than the rest.
local server
-- A refusal that names the first field that is missing, empty or zero: an identity without it would be the same after a
-- loss of the server's data.
local function ask_server()
  if server then return end
  local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication') .. redis.call('INFO', 'memory')
  local found = {}
  for _, field in ipairs({'role', 'maxmemory_policy', 'run_id', 'master_replid'}) do
    local value = string.match(info, '\n' .. field .. ':([^\r\n]*)') or ''
    if string.match(value, '^0*$') then
      return {'refused', 'withheld', field, value, string.match(info, '\n(%w+_version:[^\r\n]*)') or ''}
    end
    found[field] = value
  end
  if found.role ~= 'master' then return {'refused', 'role', found.role} end
  found.identity = found.run_id .. '/' .. found.master_replid
  server = found
end

-- A stamp that was never given before: of the server, its time, and what no other request has in common with this one.
local function stamp_past(salt, watched, ...)
  past.stamp = string.sub(redis.sha1hex(table.concat({server.identity, time[1], time[2], salt}, ' ')), 1, 32)
  past.watched = watched
  redis.call('HSET', KEYS[#KEYS], 'stamp', past.stamp, 'watched', number(watched), ...)
end

-- A server that the past does not name may have lost grants. `trusted`: a server without a past has lost nothing.
local function examine(salt, trusted)
  local refusal = ask_server()
  if refusal then return refusal end
  past.identity = past.identity or redis.call('HMGET', KEYS[#KEYS], 'identity')[1]
  if past.identity == server.identity and past.stamp then return end
  local watched = trusted and not (past.identity or past.stamp) and 4503599627370496 or 0
  past.identity = server.identity
  stamp_past(salt, watched, 'identity', past.identity)
end
