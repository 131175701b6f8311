-- The past: what the server knows about its own history, beside all elections of the prefix. A stamp says which past it
-- is: a new one whenever grants may have been lost.
--
-- The last key is the past's, unless the last argument is '-'. If it is neither that nor '', the request is the first over
-- its connection, and it is that connection's random number.
local first = ARGV[#ARGV]
local past = { purged = 0, longest = 0, watched = 0 }
if first ~= '-' then
  local p = redis.call('HMGET', KEYS[#KEYS], 'identity', 'stamp', 'watched', 'longest', 'purged')
  past = { identity = p[1], stamp = p[1] and p[2] or nil, watched = whole(p[3]) or 0, longest = whole(p[4]) or 0,
    purged = whole(p[5]) or 0 }
end

-- Whether a candidate of that quarantine must watch the past before it may be granted anything.
local function unwatched(quarantine)
  return past.stamp and past.watched < math.max(quarantine, past.longest)
end

-- A candidate has told for how long it has watched a stamp.
local function note_watch(stamp, watched)
  if stamp == past.stamp and watched > past.watched then
    past.watched = watched
    redis.call('HSET', KEYS[#KEYS], 'watched', number(watched))
  end
end
