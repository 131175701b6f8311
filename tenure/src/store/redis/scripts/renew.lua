-- Renew: one lease or many, each judged alone. A renewal writes a new mark, unless a later one has.
--
-- KEYS  the elections' records, and then the past
-- ARGV  for each of them: 1 holder   2 token   3 number   4 watched stamp, or ''   5 for how long, us
--       and then: the connection's number
local function renew(key, holder, token, id, stamp, watched)
  -- A leader renews all the time, so no more is read than must be.
  local r = redis.pcall('HMGET', key, 'token', 'holder', 'number', 'released', 'quarantine', 'asked', 'wanted', 'defer')
  local last, quarantine = whole(r[3]), whole(r[5])
  if not (r[1] == token and r[2] == holder and r[4] == '0' and last and quarantine) then
    local record, refusal = record_of(key)
    return refusal or {'superseded', record and record.token or past.purged}
  end
  if tonumber(id) > last then
    redis.call('HSET', key, 'number', id, 'written', number(now))
    if r[6] ~= '' then redis.call('HSET', key, 'asked', '', 'defer', '0') end
    if stamp ~= '' then note_watch(stamp, tonumber(watched)) end
  end
  local told = unwatched(quarantine)
  if not told and r[6] == '' and r[7] == '' then return {'renewed'} end
  return {'renewed', r[6], r[8], r[7], told and past.stamp or '', told and past.longest or 0}
end

local answers = {}
for place = 1, (#ARGV - 1) / 5 do
  answers[place] = renew(KEYS[place], unpack(ARGV, 5 * place - 4, 5 * place))
end
return answers
