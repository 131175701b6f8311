-- Acquire: one lease or many, each judged alone. A lease is granted if the candidate knows the last tenure and it was given
-- back, or if the candidate has watched this very mark for as long as the record demands, and the past too.
--
-- KEYS  the elections' records, and then the past
-- ARGV  for each of them: 1 holder   2 number   3 seen (0: none)   4 last token of the loss that was watched out, or ''
--       5 watched mark, or ''   6 watched stamp, or ''   7 for how long, us   8 ttl, us   9 quarantine, us
--       10 name's digest   11 name   12 metadata
--       and then: '1' to trust a server that has never seen the prefix; the connection's number
--
-- The record has no expiry of its own: its token must outlive the lease.
local trusted = ARGV[#ARGV - 1] == '1'

local function acquire(key, holder, id, seen, lost, mark, stamp, watched, ttl, quarantine, name, shown, metadata)
  local record, refusal = record_of(key)
  if refusal then return refusal end
  local last = record and record.token or purged()
  local mine = record and not record.released and record.holder == holder
  local grantable = mine or not record and seen >= last
  if record and not grantable then
    local agrees = quarantine >= record.ttl and record.quarantine >= ttl
    local kept = record[10] ~= '' and record[10] ~= name
    grantable = record.released and not kept and seen >= record.token and agrees
      or mark == record.holder .. ':' .. record[3]
  end

  local salt = holder .. ' ' .. number(id)
  if first ~= '' or grantable then
    refusal = examine(salt, trusted and seen <= last)
    if refusal then return refusal end
    if grantable and string.sub(server.maxmemory_policy, 1, 8) == 'allkeys-' then
      return {'refused', 'eviction', server.maxmemory_policy}
    end
  end

  -- The candidate knows of a grant that this server has lost, and has not watched that loss out.
  local news = seen > last and lost ~= last
  if not news then
    note_watch(stamp, watched)
  elseif past.stamp and past.watched > 0 then
    -- Only a past that was watched: otherwise two candidates would stamp each other away for ever.
    refusal = ask_server()
    if refusal then return refusal end
    stamp_past(salt, 0)
  end
  if news or not grantable or unwatched(quarantine) then
    return show('not', key, record, quarantine)
  end

  if mine then
    if id > record.number then redis.call('HSET', key, 'number', number(id), 'written', number(now)) end
    return {'granted', last}
  end
  local token = math.max(last + 1, seen + 1, now)
  if token >= 9007199254740992 then return {'refused', 'token'} end
  redis.call('HSET', key, 'token', number(token), 'holder', holder, 'number', number(id), 'released', '0',
    'ttl', number(ttl), 'quarantine', number(quarantine), 'asked', '', 'defer', '0', 'wanted', '', 'reserved_for', '',
    'reserve', '0', 'written', number(now), 'name', shown, 'metadata', metadata)
  if ttl > past.longest then
    past.longest = ttl
    redis.call('HSET', KEYS[#KEYS], 'longest', number(ttl))
  end
  return {'granted', token}
end

local answers = {}
for place = 1, #KEYS - 1 do
  local a = {unpack(ARGV, 12 * place - 11, 12 * place)}
  for _, of in ipairs({2, 3, 4, 7, 8, 9}) do a[of] = tonumber(a[of]) end
  local ok, answer = pcall(acquire, KEYS[place], unpack(a, 1, 12))
  -- An error concerns this election alone: the others are answered all the same.
  answers[place] = ok and answer or {'refused', 'error', answer}
end
return answers
