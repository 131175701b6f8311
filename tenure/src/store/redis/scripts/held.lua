-- The answer that names the holder of a live lease. A name and metadata that are longer than any candidate writes
-- them are not even read: values of many megabytes would block the server, and then the connection of all elections.
local function held(key, last, lease_end, lasts, holder)
  if #holder ~= 32 then return {'refused', 'record'} end
  local name, metadata = redis.call('HSTRLEN', key, 'name'), redis.call('HSTRLEN', key, 'metadata')
  if name > 128 or metadata > 4096 then
    return {'refused', 'record', '; name and metadata have ' .. name .. ' and ' .. metadata
      .. ' bytes, and may have 128 and 4096'}
  end
  local profile = redis.call('HMGET', key, 'name', 'metadata')
  -- Never more than that lease's own TTL, even if the clock has stepped back.
  local remaining = math.min(lease_end - now, lasts)
  return {'held', last, remaining, holder, profile[1] or '', profile[2] or '', lasts}
end
