-- Renew: one lease or many, each judged alone. A renewal writes a new mark, unless a later one has.
--
-- KEYS  the elections' records, and then the past
-- ARGV  for each of them: 1 holder   2 token   3 number   4 watched stamp, or ''   5 for how long, us
--       and then: the connection's number
local function renew(key, holder, token, id, stamp, watched)
  local record, refusal = record_of(key)
  if refusal then return refusal end
  if not record or record.released or record.holder ~= holder or record[1] ~= token then
    return {'superseded', record and record.token or past.purged}
  end
  if tonumber(id) > record.number then
    local asked = record[7] ~= '' and {'asked', '', 'defer', '0'} or {}
    redis.call('HSET', key, 'number', id, 'written', number(now), unpack(asked))
    note_watch(stamp, tonumber(watched))
  end
  local told = unwatched(record.quarantine)
  return {'renewed', record[7], record[8], record[9], told and past.stamp or '', told and past.longest or 0}
end

local answers = {}
for place = 1, (#ARGV - 1) / 5 do
  answers[place] = renew(KEYS[place], unpack(ARGV, 5 * place - 4, 5 * place))
end
return answers
