-- Purge: deletes those of these records whose lease ended long ago, and returns how many. Long ago is longer ago than
-- the age, than the longest TTL that the history remembers, and than the record's own settings bind others.
--
-- KEYS  the elections' records, and then the prefix's history
-- ARGV  1 age, us
--
-- At maxmemory it writes one short value into the history, and frees more.
local past = KEYS[#KEYS]
local history = redis.call('HMGET', past, 'identity', 'longest_ttl', 'purged')
-- The highest token that was deleted must be kept somewhere.
if not history[1] then return {'purged', 0} end
local age = math.max(tonumber(ARGV[1]), whole(history[2]) or 0)
local noted = whole(history[3]) or 0

-- The token of a record that is to be deleted. Damaged records, and values that are no records, are kept.
local function outdated(key)
  local record = redis.pcall('HMGET', key, 'token', 'holder', 'lease_end', 'ttl', 'quarantine')
  if record.err then return nil end
  local last, lease_end, lasts = whole(record[1]), whole(record[3]), whole(record[4])
  if not (last and record[2] and lease_end and lasts) then return nil end
  local binds = math.max(lasts, whole(record[5]) or 0)
  return lease_end + math.max(age, binds) < now and last < now and last
end

local old, highest = {}, noted
for place = 1, #KEYS - 1 do
  local last = outdated(KEYS[place])
  if last then
    old[#old + 1] = KEYS[place]
    highest = math.max(highest, last)
  end
end
if highest > noted then redis.call('HSET', past, 'purged', number(highest)) end
for _, key in ipairs(old) do redis.call('DEL', key) end
return {'purged', #old}
