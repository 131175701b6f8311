-- Acquire: one lease or many, each by the same reading of the clock, and each judged alone. A lease is granted if it
-- is vacant and the candidate knows the last tenure.
--
-- KEYS  the elections' records, and then the prefix's history
-- ARGV  for each of them: 1 holder   2 seen (0: none)   3 ttl, us   4 quarantine, us   5 name   6 metadata
--       and then: '1' to trust a server that has never seen the prefix
--
-- The record has no expiry of its own: its token must outlive the lease.
local past, trusted = KEYS[#KEYS], ARGV[#ARGV] == '1'

-- The server is examined once, and only when a lease is granted: that costs more than the rest.
local server, refusal
local function examine()
  return report({'server', 'replication', 'memory'}, {'role', 'maxmemory_policy', 'run_id', 'master_replid'})
end

local function acquire(key, holder, seen, ttl, quarantine, name, metadata)
  local record = redis.call('HMGET', key, 'token', 'holder', 'lease_end', 'ttl', 'released', 'quarantine')
  local last, lease_end, lasts = 0, 0, 0
  if record[1] or record[2] or record[3] then
    last, lease_end, lasts = whole(record[1]), whole(record[3]), whole(record[4])
    if not (last and lease_end and lasts and record[2]) then return {'refused', 'record'} end
  end
  local live = record[5] ~= '1' and now < lease_end
  local mine = live and record[2] == holder

  -- Candidates whose settings contradict each other do not wait for each other's leases after a loss of
  -- data. A record of an earlier version has no quarantine. The record's settings count for as long as a
  -- candidate with them may still ask.
  local declared = whole(record[6])
  if not mine and now < lease_end + math.max(lasts, declared or 0)
    and (quarantine < lasts or declared and declared < ttl) then
    return {'contradicted', lasts, declared or 0}
  end
  if live and not mine then return held(key, last, lease_end, lasts, record[2]) end
  if not mine and seen < last then
    -- A late duplicate of an old acquire ends here.
    return {'stale', last}
  end

  -- From here on the lease is granted.
  if not server then server, refusal = examine() end
  if not server then return refusal end
  if server.role ~= 'master' then return {'refused', 'role', server.role} end
  local policy = server.maxmemory_policy
  if string.sub(policy, 1, 8) == 'allkeys-' then return {'refused', 'eviction', policy} end

  -- Since when this server knows, without a gap, which leases it granted. Another server than the one
  -- that wrote the history, or a candidate that knows a higher token than the record's, means that grants
  -- may be lost: the candidate then waits until no older leader can be left.
  local history = redis.call('HMGET', past, 'identity', 'known_since', 'longest_ttl', 'purged')
  local known_since, remembered = whole(history[2]), whole(history[3])
  -- Without a record, tokens up to the highest purged one are known.
  local known = record[1] and last or whole(history[4]) or 0
  local longest = math.max(remembered or 0, ttl)
  local fresh = seen > known or history[1] ~= identity(server) or not known_since
  if fresh and trusted and not history[1] and seen <= known then
    known_since = 0
  elseif fresh or known_since > now then
    -- A renewal may have set it to a time in the future: a grant waits for at most one quarantine.
    fresh, known_since = true, now
  end
  if fresh or longest ~= remembered then
    redis.call('HSET', past, 'identity', identity(server), 'known_since', number(known_since),
      'longest_ttl', number(longest))
  end

  local token = last
  if mine then
    lease_end = math.max(lease_end, now + ttl)
  else
    token = math.max(known + 1, seen + 1, now)
    lease_end = now + ttl
  end
  -- A repeated grant keeps what the leader has replaced since.
  local profile = mine and {} or {'name', name, 'metadata', metadata}
  redis.call('HSET', key, 'token', number(token), 'holder', holder,
    'lease_end', number(lease_end), 'ttl', number(ttl), 'released', '0',
    'quarantine', number(mine and declared or quarantine), unpack(profile))
  return {'granted', token, math.max(0, known_since + math.max(quarantine, longest) - now)}
end

local answers = {}
for place = 1, #KEYS - 1 do
  local before = 6 * (place - 1)
  local ok, answer = pcall(acquire, KEYS[place], ARGV[before + 1], tonumber(ARGV[before + 2]),
    tonumber(ARGV[before + 3]), tonumber(ARGV[before + 4]), ARGV[before + 5], ARGV[before + 6])
  -- An error concerns this election alone: the others are answered all the same.
  answers[place] = ok and answer or {'refused', 'error', answer}
end
return answers
