-- The past: what the server knows about its own history, beside all elections of the prefix. A stamp says which past it
-- is: a new one whenever grants may have been lost.
--
-- The last key is the past's, unless the last argument is '-'. If it is neither that nor '', the request is the first over
-- its connection, and it is that connection's random number.
local first = ARGV[#ARGV]
local past = { watched = 0, longest = 0 }
if first ~= '-' then
  local p = redis.call('HMGET', KEYS[#KEYS], 'stamp', 'watched', 'longest')
  past = { stamp = p[1], watched = whole(p[2]) or 0, longest = whole(p[3]) or 0 }
end

-- The highest token among the records that were purged.
local function purged()
  return first ~= '-' and whole(redis.call('HMGET', KEYS[#KEYS], 'purged')[1]) or 0
end

-- Whether a candidate of that quarantine must watch the past before it may be granted anything.
local function unwatched(quarantine)
  return past.stamp and (past.watched < quarantine or past.watched < past.longest)
end

-- A candidate has told for how long it has watched a stamp.
local function note_watch(stamp, watched)
  if stamp == past.stamp and watched > past.watched then
    past.watched = watched
    redis.call('HSET', KEYS[#KEYS], 'watched', number(watched))
  end
end
