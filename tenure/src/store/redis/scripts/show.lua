-- The answer that shows the election, and the past if it is to be watched; without a quarantine, the past is not shown.
-- A name and metadata that are longer than any candidate writes them are not read: values of many megabytes would block
-- the server, and then the connection of all elections.
local function show(word, key, record, quarantine)
  local told = quarantine and unwatched(quarantine)
  local stamp, longest = told and past.stamp or '', told and past.longest or 0
  if not record then return {word, purged(), now, stamp, longest} end
  local name, metadata = redis.call('HSTRLEN', key, 'name'), redis.call('HSTRLEN', key, 'metadata')
  local profile = {'', ''}
  if name <= 128 and metadata <= 4096 then profile = redis.call('HMGET', key, 'name', 'metadata') end
  return {word, record.token, now, stamp, longest, profile[1] or '', profile[2] or '', unpack(record)}
end
